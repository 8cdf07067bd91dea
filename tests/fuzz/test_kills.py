"""A kill and a limit on the size of files from `tests/fuzz kills`, and that the harness sees damage."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.kills import CASES, Run, kill_and_rerun, make_project, small_files, state_of, when_writing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as groups of POSIX"),
]


@pytest.fixture(scope="module")
def whole(compiled_modules, tmp_path_factory):
    project = tmp_path_factory.mktemp("whole") / "project"
    make_project(project)
    run = Run(project)
    assert run.to_end() == 0, run.printed
    return project


def test_a_kill_while_a_file_is_written_loses_and_damages_nothing(whole, tmp_path):
    fate = kill_and_rerun(tmp_path, whole, "5th file", 0, lambda run: when_writing(run, 5))
    assert (fate.lost, fate.damaged, fate.twice, fate.not_green) == ([], [], [], "")
    assert 0 < fate.recorded < CASES
    assert fate.in_time


def test_a_limit_on_the_size_of_files_loses_nothing(tmp_path):
    (check,) = small_files(tmp_path)
    assert check.problem == ""


def test_damage_is_seen(whole):
    page, results, baseline = whole / "r.html", whole / "r.jsonl", whole / "b.json"
    assert state_of(whole).damaged == []
    assert len(state_of(whole).recorded) == CASES
    recording = next(whole.glob("extract-recordings/*/*.json"))
    for path in (page, baseline, recording):
        text = path.read_text()
        path.write_text(text[: len(text) // 2])
        assert len(state_of(whole).damaged) == 1
        path.write_text(text)
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join([lines[0][:100] + "\n", *lines[1:]]))
    assert len(state_of(whole).damaged) == 1
