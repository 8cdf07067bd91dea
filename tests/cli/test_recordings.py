"""`pytest-extract check --prune` on a small project: which recordings no case can use, and what becomes of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.litellm import LitellmExtractor
from pytest_extract.extraction.recordings import Recordings, key_of, recording_files, text_part
from tests.commands import write

CASES = """
defaults: {schema: s.json, gold: {a: x}}
cases:
  - {id: one, text: "Document one", prompt: p.md}
  - {id: two, text: "Document two", question: "Which?"}
"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SUITE, RECORDINGS = Path("cases/all.extract.yaml"), Path("rec")


@pytest.fixture
def check(run):
    """Run `check` in a project of two cases without recordings."""
    write({SUITE: CASES, "cases/s.json": SCHEMA, "cases/p.md": "Read it.\n"})
    return lambda words="": run(f"check --recordings rec {words}")


def keys(extractor=len, **more):
    loaded = load_cases(SUITE)
    assert loaded.errors == ()
    return [key_of(case, extractor=extractor, nodeid="n", root=Path.cwd(), **more) for case in loaded.cases]


def record(some_keys):
    for key in some_keys:
        Recordings(RECORDINGS, "once").store(key, Extraction("{}"))


def edit(path, old, new):
    path = Path("cases", path)
    path.write_text(path.read_text().replace(old, new))


def recorded():
    return sorted({path.parent.name for path in recording_files(RECORDINGS)})


def unused(ended):
    """Folders of the recordings that `check` warns of."""
    return sorted(line.split("/")[1] for line in ended.lines if "of this recording any more" in line)


def test_what_a_case_can_use_stays(check):
    record([*keys(), *keys(model="openai/x", repeat=1)])
    ended = check("--prune --strict")
    assert (ended.status, unused(ended)) == (0, [])
    assert "removed 0 unused recordings" in ended.err
    assert len(list(recording_files(RECORDINGS))) == 4


@pytest.mark.parametrize(
    ("file", "old", "new", "case"),
    [
        ("p.md", "Read", "Take", "one"),
        ("all.extract.yaml", "Which?", "Who?", "two"),
        ("all.extract.yaml", "Document one", "Document 1", "one"),
        ("all.extract.yaml", 'id: two, text: "Document two"', 'id: 2nd, text: "Other"', "two"),
    ],
    ids=["prompt", "question", "document", "case gone"],
)
def test_what_no_case_can_use_is_warned_of_and_removed_when_asked_for(check, file, old, new, case):
    record(keys())
    edit(file, old, new)
    assert [unused(check()), check().status, check("--strict").status] == [[f"cases-all-{case}"], 0, 1]
    assert recorded() == ["cases-all-one", "cases-all-two"]
    ended = check("--prune")
    assert (ended.status, unused(ended)) == (0, [f"cases-all-{case}"])
    assert "removed 1 unused recording\n" in ended.err
    assert recorded() == [f"cases-all-{'two' if case == 'one' else 'one'}"]
    assert not (RECORDINGS / f"cases-all-{case}").exists()


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ({}, lambda: SUITE.rename("cases/every.extract.yaml")),
        ({"revision": "main"}, lambda: edit("p.md", "Read", "Take")),
        (
            {"extractor": LitellmExtractor(model="openai/x")},
            lambda: edit("s.json", '"string"', '"string", "x-eval-compare": "exact"'),
        ),
    ],
    ids=["a case of another name", "of another revision", "an annotation, for the built-in extractor"],
)
def test_what_no_output_hangs_on_makes_nothing_unused(check, more, change):
    record(keys(**more))
    change()
    check("--prune")
    assert len(recorded()) == 2


def test_a_changed_schema_makes_unused(check):
    record(keys(LitellmExtractor(model="openai/x")))
    edit("s.json", '"string"', '"string", "maxLength": 3')
    assert len(unused(check())) == 2


def test_a_prompt_from_the_command_line_counts_while_its_file_is_as_it_was(check):
    write({"v2.md": "Read it well."})
    record([dataclasses.replace(keys()[0], prompt=text_part("v2.md", "Read it well."))])
    assert unused(check()) == []
    Path("v2.md").unlink()
    assert unused(check()) == ["cases-all-one"]


def test_altered_documents_keep_their_recordings_and_so_does_one_that_cannot_be_altered_any_more(check):
    edit("all.extract.yaml", 'id: one, text: "Document one"', 'id: one, text: "Document x", variants: [{without: a}]')
    record(keys())
    check("--prune")
    assert len(recorded()) == 3
    edit("all.extract.yaml", "Document x", "Document y")
    ended = check("--prune")
    assert (ended.status, unused(ended), len(recorded())) == (0, ["cases-all-one"], 2)


def test_cases_that_were_not_looked_at_keep_their_recordings(check):
    write({"other/s.json": SCHEMA, "other/x.extract.yaml": "{text: x, schema: s.json, gold: {a: x}}"})
    record(keys())
    check("--prune other")
    assert len(recorded()) == 2


def test_what_nobody_can_read_is_warned_of_and_stays(check):
    write({"rec/a/b.json": "{"})
    assert "rec/a/b.json:1:1: warning: rec/a/b.json: no recording that can be read" in check("--prune").out
    assert recorded() == ["a"]


def test_nothing_is_removed_where_a_case_has_a_mistake(check):
    record(keys())
    edit("all.extract.yaml", "question: ", "questoin: ")
    ended = check("--prune")
    assert (ended.status, "no recording was removed: the cases have mistakes" in ended.err) == (1, True)
    assert len(recorded()) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cases/all.extract.yaml", "--prune needs folders"),
        ("--recordings other", "there is no folder other"),
        ("rec", "no case file"),
    ],
)
def test_it_is_refused_where_it_cannot_be_told_what_is_used(check, words, message):
    record(keys())
    check(f"--prune {words}").assert_refused(message)
    assert len(recorded()) == 2
