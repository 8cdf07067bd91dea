"""`pytest-extract bisect`: the hunk of a prompt by which a field fell."""

from __future__ import annotations

import json
import random
import subprocess

import pytest

from pytest_extract.changed import Hunk, Search, hunks_between, with_hunks
from pytest_extract.cli import main

OLD = "Read the invoice.\nGive the total.\nGive the vendor.\n\nAnswer in JSON.\n"
NEW = "Read the whole invoice.\nGive the total.\nIgnore cents.\nGive the vendor.\n\nAnswer in JSON only.\n"


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (NEW, OLD), ("", NEW), (OLD, ""), ("a", "a\n"), (OLD, OLD)])
def test_all_hunks_make_the_new_text_and_none_keeps_the_old(old, new):
    hunks = hunks_between("p.md", old, new)
    assert with_hunks(old, []) == old
    assert with_hunks(old, hunks) == new


def test_each_hunk_stands_by_itself():
    hunks = hunks_between("p.md", OLD, NEW)
    assert [str(hunk) for hunk in hunks] == ["p.md: line 1", "p.md: line 3", "p.md: line 6"]
    assert with_hunks(OLD, hunks[1:2]) == OLD.replace("total.\n", "total.\nIgnore cents.\n")
    (gone,) = hunks_between("p.md", "a\nb\nc\n", "a\nc\n")
    assert str(gone) == "p.md: after line 1, 1 gone"


def planted(seed, *, pair):
    """Search 1 to 12 hunks, of which one, or two together, make a field fall; values are right or wrong by chance."""
    rng = random.Random(seed)
    hunks = [Hunk("p.md", index, ("a",), ("b",), index + 1, index + 1) for index in range(rng.randint(1 + pair, 12))]
    guilty = {*rng.sample(hunks, 1 + pair)}
    drop = rng.uniform(0.4, 0.9)

    def measure(some):
        right = 0.97 - (drop if guilty <= some else 0.0)
        return {"total": sum(rng.random() < right for _ in range(20)) / 20}

    search = Search(hunks, measure)
    return {*search.causes("total")} == guilty, search.runs, search.most_runs(1)


def test_one_hunk_of_up_to_twelve_is_named():
    found = [planted(seed, pair=False) for seed in range(50)]
    assert sum(right for right, _, _ in found) >= 45
    assert all(runs <= most for right, runs, most in found if right)


def test_two_hunks_that_fall_only_together_are_named_both():
    assert sum(planted(seed, pair=True)[0] for seed in range(50)) >= 45


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
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}, "vendor": {"type": "string"}}}


FELL = OLD.replace("total.\n", "total.\nIgnore cents.\n")


def git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments], check=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Twelve cases, and a prompt of which one of three hunks makes the total fall."""
    git(tmp_path, "init", "-q")
    cases = [
        {"id": f"c{n}", "text": json.dumps(gold), "gold": gold}
        for n in range(12)
        if (gold := {"total": n + 0.5, "vendor": "A"})
    ]
    (tmp_path / "a.extract.yaml").write_text(
        json.dumps({"defaults": {"schema": SCHEMA}, "cases": cases}), encoding="utf-8"
    )
    (tmp_path / "conftest.py").write_text(EXTRACTOR, encoding="utf-8")
    (tmp_path / "prompt.md").write_text(OLD, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "old")
    (tmp_path / "prompt.md").write_text(NEW, encoding="utf-8")
    git(tmp_path, "commit", "-qam", "new")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_hunk_is_named_with_what_it_costs(project, capsys):
    assert main(["bisect", "HEAD~1..HEAD"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "3 hunks in prompt.md (3)"
    assert "12 cases fell; at most 4 runs of them follow" in told
    assert (
        "total falls by prompt.md: line 3: -100.0 points (100 % to 0 % in these cases); the rest changes nothing"
        in told
    )
    assert (project / "prompt.md").read_text(encoding="utf-8") == NEW
    assert subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, check=True).stdout == b""


@pytest.mark.slow
def test_an_absolute_path_names_cases_of_the_revision_too(project, capsys):
    (project / "prompt.md").write_text(OLD, encoding="utf-8")  # in the work tree only
    assert main(["bisect", "HEAD~1..HEAD", f"{project / 'a.extract.yaml'}::c1", f"{project / 'a.extract.yaml'}"]) == 0
    assert "total falls by prompt.md: line 3" in capsys.readouterr().out
    assert main(["bisect", "HEAD~1..HEAD", str(project.parent)]) == 2
    assert f"{project.parent}: not in the repository" in capsys.readouterr().err


@pytest.mark.slow
def test_outputs_of_other_code_are_not_replayed(project, capsys):
    main(["bisect", "HEAD~1..HEAD"])
    (project / "conftest.py").write_text(EXTRACTOR.replace("Ignore cents", "Ignore no cents"), encoding="utf-8")
    git(project, "commit", "-qam", "mended")
    capsys.readouterr()
    assert main(["bisect", "HEAD~2..HEAD"]) == 0
    assert "no field fell beyond noise" in capsys.readouterr().out


@pytest.mark.slow
def test_hunks_that_cannot_run_without_others_and_new_files_do_not_end_the_search(project, capsys):
    def commit(schema, prompt):
        (project / "0.json").write_text(json.dumps(schema, indent=1), encoding="utf-8")
        (project / "prompt.md").write_text(prompt, encoding="utf-8")
        git(project, "add", ".")
        git(project, "commit", "-qm", "change")

    content = json.loads((project / "a.extract.yaml").read_text(encoding="utf-8"))
    content["defaults"]["schema"] = "0.json"
    (project / "a.extract.yaml").write_text(json.dumps(content), encoding="utf-8")
    commit(SCHEMA, OLD)
    properties = {"total": {"$ref": "#/$defs/money"}, "vendor": {"type": "string"}}
    content = {"schema": "new.json", "text": '{"total": 1}', "gold": {"total": 1}}
    (project / "new.extract.yaml").write_text(json.dumps(content), encoding="utf-8")
    (project / "new.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    commit({"type": "object", "properties": properties, "$defs": {"money": {"type": "number"}}}, FELL)
    assert main(["bisect", "HEAD~1..HEAD"]) == 0
    told = capsys.readouterr()
    assert "total falls by prompt.md: line 3: -100.0 points" in told.out
    assert "1 hunk cannot run without others" in told.err


def test_a_dry_run_says_what_it_takes(project, capsys):
    assert main(["bisect", "HEAD~1..", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "two runs of all cases, then at most 4 runs of those that fell for each field" in told
    assert not (project / "extract-recordings").exists()


def test_where_nothing_fell_nothing_is_searched(project, capsys):
    assert main(["bisect", "HEAD..HEAD~1"]) == 0
    assert "no field fell beyond noise" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["HEAD"], "name two revisions as BASE..HEAD"),
        (["nowhere..HEAD"], "no git revision 'nowhere'"),
        (["HEAD~1..HEAD", "--only", "*.json"], "no prompt or schema file of both differs between HEAD~1 and HEAD"),
    ],
)
def test_what_cannot_be_searched_is_usage(project, capsys, arguments, told):
    assert main(["bisect", *arguments]) == 2
    assert told in capsys.readouterr().err
