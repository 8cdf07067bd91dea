"""`pytest-extract bisect`: the hunk of a prompt by which a field fell."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

from pytest_extract.cli.compare import Hunk, causes_of, hunks_between, most_runs, with_hunks
from tests.commands import write

OLD = "Read the invoice.\nGive the total.\nGive the vendor.\n\nAnswer in JSON.\n"
FELL = OLD.replace("total.\n", "total.\nIgnore cents.\n")
TWO = FELL.replace("JSON.", "JSON only.")
NEW = TWO.replace("the invoice", "the whole invoice")


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (NEW, OLD), ("", NEW), (OLD, ""), ("a", "a\n"), (OLD, OLD)])
def test_all_hunks_make_the_new_text_and_none_keeps_the_old(old, new):
    hunks = hunks_between("p.md", old, new)
    assert (with_hunks(old, []), with_hunks(old, hunks)) == (old, new)


def test_each_hunk_stands_by_itself():
    hunks = hunks_between("p.md", OLD, NEW)
    assert [str(hunk) for hunk in hunks] == ["p.md: line 1", "p.md: line 3", "p.md: line 6"]
    assert with_hunks(OLD, hunks[1:2]) == FELL
    (gone,) = hunks_between("p.md", "a\nb\nc\n", "a\nc\n")
    assert str(gone) == "p.md: after line 1, 1 gone"


@pytest.mark.parametrize("guilty", [1, 2])
def test_the_hunks_of_up_to_twelve_by_which_alone_or_together_a_field_falls_are_named(guilty):
    """Values are right or wrong by chance."""

    def planted(seed):
        rng = random.Random(seed)
        hunks = [Hunk("p.md", index, ("a",), ("b",), index + 1, index + 1) for index in range(rng.randint(guilty, 12))]
        causes = {*rng.sample(hunks, guilty)}
        drop = rng.uniform(0.4, 0.9)

        @cache
        def rates(some):
            right = 0.97 - (drop if causes <= some else 0.0)
            return {"total": sum(rng.random() < right for _ in range(20)) / 20}

        right = {*causes_of("total", hunks, rates)} == causes
        rates(frozenset(hunks) - causes)  # which the command tells too
        assert not right or guilty == 2 or rates.cache_info().misses <= 2 + most_runs(hunks, 1)
        return right

    assert sum(map(planted, range(50))) >= 45


EXTRACTOR = """
import json, pytest
from pathlib import Path

@pytest.fixture
def extractor():
    def extract(document):
        prompt = Path("prompt.md").read_text()
        found = json.loads(document.text)
        if "Ignore cents" in prompt:
            found["total"] = float(int(found["total"]))
        return found
    return extract
"""
TOTAL, VENDOR = {"type": "number"}, {"type": "string"}
SCHEMA = {"type": "object", "properties": {"total": TOTAL, "vendor": VENDOR}}
GOLDS = [{"total": number + 0.5, "vendor": "A"} for number in range(12)]
CASES = [{"id": f"https://c{number}", "text": json.dumps(gold), "gold": gold} for number, gold in enumerate(GOLDS)]
CAUSE = "total falls by prompt.md: line 3"


@pytest.fixture
def bisect(git, run, monkeypatch):
    """Bisect between two commits: twelve cases, and a prompt of which one of two hunks makes the total fall."""
    monkeypatch.chdir(git.root)
    suite = {"defaults": {"schema": SCHEMA}, "cases": CASES}
    git.commit({"a.extract.yaml": suite, "conftest.py": EXTRACTOR, "prompt.md": OLD})
    git.commit({"prompt.md": TWO})
    return lambda words, status=0: run(f"bisect {words}", status=status)


def test_the_hunk_is_named_with_what_it_costs_and_none_where_nothing_fell(bisect, git):
    lines = bisect("HEAD~1..HEAD").lines
    assert lines[0] == "2 hunks in prompt.md (2)"
    assert "12 cases fell; at most 3 runs of them follow" in lines
    assert f"{CAUSE}: -100.0 points (100 % to 0 % in these cases); the rest changes nothing" in lines
    assert (git.root / "prompt.md").read_text(encoding="utf-8") == TWO
    assert git("status", "--porcelain", "-uno") == ""
    assert "no field fell beyond noise" in bisect("HEAD..HEAD~1").out


@pytest.mark.slow
def test_an_absolute_path_names_cases_of_the_revision_too(bisect, git):
    write({"prompt.md": OLD})  # in the work tree only
    suite = git.root / "a.extract.yaml"
    assert CAUSE in bisect(f"HEAD~1..HEAD {suite}::c1 {suite}").out
    assert f"{git.root.parent}: not in the repository" in bisect(f"HEAD~1..HEAD {git.root.parent}", status=2).err


@pytest.mark.slow
def test_outputs_of_other_code_are_not_replayed_and_where_nothing_fell_nothing_is_searched(bisect, git):
    bisect("HEAD~1..HEAD")
    git.commit({"conftest.py": EXTRACTOR.replace("Ignore cents", "Ignore no cents")})
    assert "no field fell beyond noise" in bisect("HEAD~2..HEAD").out


@pytest.mark.slow
def test_hunks_that_cannot_run_without_others_and_new_files_do_not_end_the_search(bisect, git):
    def schema(**more):
        return json.dumps({"type": "object", **more}, indent=1)

    suite = {"defaults": {"schema": "0.json"}, "cases": CASES}
    git.commit({"a.extract.yaml": suite, "0.json": schema(properties=SCHEMA["properties"]), "prompt.md": OLD})
    properties = {"total": {"$ref": "#/$defs/money"}, "vendor": VENDOR}
    new = {"new.extract.yaml": {"schema": "new.json", "text": '{"total": 1}', "gold": {"total": 1}}, "new.json": SCHEMA}
    git.commit(new | {"0.json": schema(properties=properties, **{"$defs": {"money": TOTAL}}), "prompt.md": FELL})
    ended = bisect("HEAD~1..HEAD")
    assert f"{CAUSE}: -100.0 points" in ended.out
    assert "1 hunk cannot run without others" in ended.err


def test_a_dry_run_says_what_it_takes(bisect, git):
    told = bisect("HEAD~1.. --dry-run").out
    assert "two runs of all cases, then at most 3 runs of those that fell for each field" in told
    assert not (git.root / "extract-recordings").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("HEAD", "name two revisions as BASE..HEAD"),
        ("nowhere..HEAD", "no git revision 'nowhere'"),
        ("HEAD..HEAD", "no prompt or schema file of both differs between HEAD and HEAD"),
    ],
)
def test_what_cannot_be_searched_is_usage(bisect, words, told):
    assert told in bisect(words, status=2).err
