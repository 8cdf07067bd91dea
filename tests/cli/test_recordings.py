"""`pytest-extract recordings list | prune` on a small project."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.documents import Document
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.litellm import LitellmExtractor
from pytest_extract.extraction.recordings import (
    CaseInputs,
    Recordings,
    key_of,
    read_recording,
    recording_files,
    text_part,
)
from tests.commands import write
from tests.cpu_time import cpu_seconds

CASES = """
defaults: {schema: s.json, gold: {a: x}}
cases:
  - {id: one, text: "Document one", prompt: p.md}
  - {id: two, text: "Document two", question: "Which?"}
"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SUITE, RECORDINGS = Path("cases/all.extract.yaml"), Path("rec")


@pytest.fixture
def recordings(run):
    """Run `recordings` in a project of two cases without any."""
    write({SUITE: CASES, "cases/s.json": SCHEMA, "cases/p.md": "Read it.\n"})

    def recordings(words):
        return run(f"recordings {words} --recordings rec --root .")

    return recordings


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


def test_what_a_case_can_use_is_listed_and_stays(recordings):
    record([*keys(), *keys(model="openai/x", repeat=1)])
    lines = recordings("list").lines
    assert len(lines) == 5
    assert all(line.startswith("used   ") for line in lines[:4])
    assert any(line.endswith("cases/all.extract.yaml::one (openai/x, cases/p.md, repeat 2)") for line in lines)
    assert recordings("prune")[:2] == (0, "4 recordings, 0 unused, removed\n")
    assert len(list(recording_files(RECORDINGS))) == 4


@pytest.mark.parametrize(
    ("file", "old", "new", "case", "why"),
    [
        ("p.md", "Read", "Take", "one", "prompt changed"),
        ("all.extract.yaml", "Which?", "Who?", "two", "question changed"),
        ("all.extract.yaml", "Document one", "Document 1", "one", "document changed"),
        ("all.extract.yaml", 'id: two, text: "Document two"', 'id: 2nd, text: "Other"', "two", "its case is gone"),
    ],
)
def test_what_changed_is_said_and_removed(recordings, file, old, new, case, why):
    record(keys())
    edit(file, old, new)
    first, *rest = recordings("list --unused").lines
    assert (first.startswith("unused "), f"::{case}" in first, first.endswith(f": {why}")) == (True, True, True)
    assert rest == ["2 recordings, 1 unused"]
    assert "none removed" in recordings("prune --dry-run").out
    assert recorded() == ["cases-all-one", "cases-all-two"]
    recordings("prune")
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
def test_what_no_output_hangs_on_makes_nothing_unused(recordings, more, change):
    record(keys(**more))
    change()
    recordings("prune")
    assert len(recorded()) == 2


def test_a_changed_schema_makes_unused(recordings):
    record(keys(LitellmExtractor(model="openai/x")))
    edit("s.json", '"string"', '"string", "maxLength": 3')
    assert recordings("list").out.count("schema changed") == 2


def test_a_prompt_from_the_command_line_counts_while_its_file_is_as_it_was(recordings):
    write({"v2.md": "Read it well."})
    record([dataclasses.replace(keys()[0], prompt=text_part("v2.md", "Read it well."))])
    assert "1 recordings, 0 unused" in recordings("list").out
    Path("v2.md").unlink()
    assert "prompt changed" in recordings("list").out


def test_cases_that_were_not_looked_at_keep_their_recordings(recordings):
    write({"other/s.json": SCHEMA, "other/x.extract.yaml": "{text: x, schema: s.json, gold: {a: x}}"})
    record(keys())
    recordings("prune other")
    assert len(recorded()) == 2


@pytest.mark.parametrize(("text", "message"), [("cases: 3", "cannot be told"), (None, "no case file")])
def test_nothing_is_removed_when_the_cases_cannot_be_read(recordings, text, message):
    record(keys())
    SUITE.unlink() if text is None else SUITE.write_text(text)
    recordings("prune").assert_refused(message)
    assert len(recorded()) == 2


def test_recordings_of_a_case_file_that_is_gone_take_linear_time(recordings):
    record(keys())
    (case, _) = load_cases(SUITE).cases
    gone = read_recording(next(RECORDINGS.glob("*one/*.json")))
    SUITE.unlink()

    def seconds(count):
        other = dataclasses.replace(case, path=Path("b.extract.yaml").absolute(), document=Document(text="other"))
        known = CaseInputs([dataclasses.replace(other, id=f"{n}") for n in range(count)], Path.cwd())
        assert known.why_unused(gone) == "its case is gone"
        return cpu_seconds(lambda: [known.why_unused(gone) for _ in range(count)])

    assert seconds(2_000) < 30 * seconds(200)


def test_check_warns_of_recordings_that_no_case_can_use(recordings, run):
    record(keys())
    assert "recording" not in run("check cases --recordings rec").out
    edit("all.extract.yaml", "Document two", "Another document")
    statuses = [run(f"check cases --recordings rec {strict}") for strict in ("", "--strict")]
    assert [ended.status for ended in statuses] == [0, 1]
    (line,) = [line for line in statuses[0].lines if "recording" in line]
    assert line.startswith("rec/")
    assert "warning: no case can use this recording: " in line
    assert "`pytest-extract recordings prune` removes it" in line
