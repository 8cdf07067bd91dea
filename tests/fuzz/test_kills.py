"""A kill and a limit on the size of files from `tests/fuzz kills`, and that the harness sees damage."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.kills import CASES, Run, kill_and_rerun, make_project, small_files, state_of, written

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
    fate = kill_and_rerun(tmp_path, whole, "5th file", written(5), slow=True)
    assert fate.problems == []
    assert 0 < fate.recorded < CASES
    assert fate.in_time


def test_a_limit_on_the_size_of_files_loses_nothing(tmp_path):
    (fate,) = small_files(tmp_path)
    assert fate.problems == []


def test_damage_is_seen(whole):
    assert state_of(whole).damaged == []
    assert len(state_of(whole).recorded) == len(state_of(whole).results) == CASES
    for path in (
        whole / "r.html",
        whole / "b.json",
        whole / "r.jsonl",
        next(whole.glob("extract-recordings/*/*.json")),
    ):
        text = path.read_text()
        cut = len(text.splitlines()[0]) // 2 if path.name == "r.jsonl" else len(text) // 2
        path.write_text(text[:cut] + (text[text.index("\n") :] if path.name == "r.jsonl" else ""))
        assert len(state_of(whole).damaged) == 1
        path.write_text(text)
