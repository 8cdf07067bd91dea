"""`pytest-extract recordings list | prune` on a small project."""

from __future__ import annotations

import dataclasses
import json
import os
import time

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.cli import main
from pytest_extract.core.results import JudgeAnswer
from pytest_extract.documents import Document
from pytest_extract.extraction.caching_judge import AnswerCache, answer_files
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
from tests.cpu_time import cpu_seconds
from tests.extraction.judge.questions import equal

CASES = """
defaults: {schema: s.json, gold: {a: x}}
cases:
  - {id: one, text: "Document one", prompt: p.md}
  - {id: two, text: "Document two", question: "Which?"}
"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "all.extract.yaml").write_text(CASES)
    (tmp_path / "cases" / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "cases" / "p.md").write_text("Read it.\n")
    return tmp_path


def keys(project, **more):
    loaded = load_cases(project / "cases" / "all.extract.yaml")
    assert loaded.errors == ()
    return [key_of(case, extractor=len, nodeid="n", root=project, **more) for case in loaded.cases]


def record(project, *some_keys):
    for key in some_keys:
        Recordings(project / "rec", "once").store(key, Extraction("{}"))


def command(project, *arguments):
    return main(["recordings", *arguments, "--recordings", str(project / "rec"), "--root", str(project)])


def names(project):
    return sorted({path.parent.name for path in recording_files(project / "rec")})


def edit(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_what_a_case_can_use_stays(project, capsys):
    record(project, *keys(project), *keys(project, model="m", repeat=2))
    assert command(project, "prune") == 0
    assert capsys.readouterr().out == "4 recordings, 0 unused, removed\n"
    assert len(list(recording_files(project / "rec"))) == 4


DAY = 86_400


def keep_answers(project, **days_ago):
    """Keep an answer for each name, last used so many days ago."""
    cache, now = AnswerCache(project / "rec" / "judge", "me"), time.time()
    for name, days in days_ago.items():
        question = equal(name, name.upper() + "!")
        cache.put(question.key, question, JudgeAnswer(1.0, "same"))
        path = cache.path(question.key, "equal")
        os.utime(path, (now - days * DAY, now - days * DAY))
    return cache


def kept(project):
    return sorted(json.loads(path.read_text())["question"]["gold"] for path in answer_files(project / "rec" / "judge"))


def test_answers_of_the_judge_stay_unless_asked_for(project, capsys):
    keep_answers(project, old=400)
    command(project, "prune")
    assert kept(project) == ["old"]
    assert "answers" not in capsys.readouterr().out


def test_answers_that_no_run_has_used_for_long_are_listed_and_removed(project, capsys):
    keep_answers(project, old=40, recent=20, new=0)
    for action in (["list"], ["prune", "--dry-run"]):
        command(project, *action, "--answers-unused-for", "30")
        assert "3 answers of judges, 1 unused for 30 days" in capsys.readouterr().out
        assert kept(project) == ["new", "old", "recent"]
    command(project, "prune", "--answers-unused-for", "30")
    *_, gone, last = capsys.readouterr().out.splitlines()
    assert gone.startswith("unused ")
    assert gone.endswith(".json: for 40 days")
    assert last == "3 answers of judges, 1 unused for 30 days, removed"
    assert kept(project) == ["new", "recent"]


def test_an_answer_that_is_used_is_no_longer_idle(project):
    cache = keep_answers(project, old=40, other=40)
    question = equal("old", "OLD!")
    assert cache.find(question.key, question) == JudgeAnswer(1.0, "same")
    command(project, "prune", "--answers-unused-for", "30")
    assert kept(project) == ["old"]


@pytest.mark.parametrize("days", ["-1", "nan"])
def test_days_are_a_number(project, days, capsys):
    assert command(project, "list", f"--answers-unused-for={days}") == 2
    assert "invalid" in capsys.readouterr().err


def test_listing_names_all(project, capsys):
    record(project, *keys(project, model="openai/x", repeat=1))
    command(project, "list")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("used   ")
    assert lines[0].endswith("cases/all.extract.yaml::one (openai/x, cases/p.md, repeat 2)")


CHANGES = {
    "prompt": ("p.md", "Read", "Take", "one", "prompt changed"),
    "question": ("all.extract.yaml", "Which?", "Who?", "two", "question changed"),
    "document": ("all.extract.yaml", "Document one", "Document 1", "one", "document changed"),
    "case": ("all.extract.yaml", 'id: two, text: "Document two"', 'id: 2nd, text: "Other"', "two", "its case is gone"),
}


@pytest.mark.parametrize(("file", "old", "new", "case", "why"), CHANGES.values(), ids=CHANGES)
def test_what_changed_is_said_and_removed(project, capsys, file, old, new, case, why):
    record(project, *keys(project))
    edit(project / "cases" / file, old, new)
    command(project, "list", "--unused")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("unused ")
    assert f"::{case}" in lines[0]
    assert lines[0].endswith(f": {why}")
    assert lines[1:] == ["2 recordings, 1 unused"]
    command(project, "prune", "--dry-run")
    assert "none removed" in capsys.readouterr().out
    assert len(names(project)) == 2
    command(project, "prune")
    assert names(project) == [f"cases-all-{'two' if case == 'one' else 'one'}"]
    assert not (project / "rec" / f"cases-all-{case}").exists()


def test_recordings_of_a_case_file_that_is_gone_take_linear_time(project):
    record(project, *keys(project))
    (case, _) = load_cases(project / "cases" / "all.extract.yaml").cases
    (project / "cases" / "all.extract.yaml").rename(project / "cases" / "new.extract.yaml")
    gone = read_recording(next((project / "rec").glob("*one/*.json")))

    def seconds(count):
        other = dataclasses.replace(case, path=project / "b.extract.yaml", document=Document(text="other"))
        known = CaseInputs([dataclasses.replace(other, id=f"{n}") for n in range(count)], project)
        assert known.why_unused(gone) == "its case is gone"
        return cpu_seconds(lambda: [known.why_unused(gone) for _ in range(count)])

    assert seconds(2_000) < 30 * seconds(200)


def test_a_changed_schema_makes_unused_but_not_its_annotations_for_the_built_in_extractor(project, capsys):
    loaded = load_cases(project / "cases" / "all.extract.yaml")
    built_in = LitellmExtractor(model="openai/x")
    record(project, *(key_of(case, extractor=built_in, nodeid="n", root=project) for case in loaded.cases))
    edit(project / "cases" / "s.json", '{"type": "string"}', '{"type": "string", "x-eval-compare": "exact"}')
    command(project, "prune")
    assert len(names(project)) == 2
    edit(project / "cases" / "s.json", '"type": "string"', '"type": "string", "maxLength": 3')
    command(project, "list")
    assert capsys.readouterr().out.count("schema changed") == 2


def test_a_renamed_case_uses_what_it_had(project):
    record(project, *keys(project))
    (project / "cases" / "all.extract.yaml").rename(project / "cases" / "every.extract.yaml")
    command(project, "prune")
    assert len(names(project)) == 2


def test_a_prompt_from_the_command_line_counts_while_its_file_is_as_it_was(project, capsys):
    (project / "v2.md").write_text("Read it well.")
    (key, _) = keys(project)
    record(project, dataclasses.replace(key, prompt=text_part("v2.md", "Read it well.")))
    command(project, "list")
    assert "1 recordings, 0 unused" in capsys.readouterr().out
    (project / "v2.md").unlink()
    command(project, "list")
    assert "prompt changed" in capsys.readouterr().out


def test_another_revisions_recordings_hang_on_the_document_alone(project, capsys):
    record(project, *keys(project, revision="main"))
    edit(project / "cases" / "p.md", "Read", "Take")
    command(project, "list")
    assert "2 recordings, 0 unused" in capsys.readouterr().out


def test_cases_that_were_not_looked_at_keep_their_recordings(project):
    (project / "other").mkdir()
    (project / "other" / "s.json").write_text(json.dumps(SCHEMA))
    (project / "other" / "x.extract.yaml").write_text("{text: x, schema: s.json, gold: {a: x}}")
    record(project, *keys(project))
    command(project, "prune", str(project / "other"))
    assert len(names(project)) == 2


@pytest.mark.parametrize(
    ("text", "message"), [("cases: 3", "cannot be told"), (None, "no case file")], ids=["mistake", "no cases"]
)
def test_nothing_is_removed_when_the_cases_cannot_be_read(project, text, message, capsys):
    record(project, *keys(project))
    path = project / "cases" / "all.extract.yaml"
    if text is None:
        path.rename(project / "cases" / "all.yaml")
    else:
        path.write_text(text)
    assert command(project, "prune") == 2
    assert message in capsys.readouterr().err
    assert len(names(project)) == 2


def test_check_warns_of_recordings_that_no_case_can_use(project, capsys, monkeypatch):
    monkeypatch.chdir(project)
    record(project, *keys(project))
    check = ["check", "cases", "--recordings", "rec"]
    assert main(check) == 0
    assert "recording" not in capsys.readouterr().out
    edit(project / "cases" / "all.extract.yaml", "Document two", "Another document")
    assert main(check) == 0
    assert main([*check, "--strict"]) == 1
    (line,) = {line for line in capsys.readouterr().out.splitlines() if "recording" in line}
    assert line.startswith("rec/")
    assert "warning: no case can use this recording: " in line
    assert "`pytest-extract recordings prune` removes it" in line
