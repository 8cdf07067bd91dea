"""Of all that want the same thing at once, one makes it; nobody waits for the dead, or for ever."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import filelock
import pytest

from pytest_extract import files
from pytest_extract.files import making

HOLD = """
import sys
from pathlib import Path
from pytest_extract.files import making

with making(Path(sys.argv[1]), ["a"]):
    print("holds", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_notes(tmp_path, monkeypatch):
    """Keep the locks of each test apart from what tests beside it leave."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


def lock_files(folder):
    return [*(folder / "temporary").glob("*/*.lock")]


def make(folder, keys, made):
    with making(folder, keys):
        made.append(keys)


def test_who_wants_one_of_the_same_keys_waits_and_nobody_for_another_matter(tmp_path, waited):
    made = []
    with ThreadPoolExecutor(1) as pool, making(tmp_path, ["a", "b"]):
        pool.submit(make, tmp_path, ["another key"], []).result(timeout=60)
        pool.submit(make, tmp_path / "another store", ["a"], []).result(timeout=60)
        other = pool.submit(make, tmp_path, ["b", "c"], made)
        waited.wait()
        made.append(["a", "b"])
    other.result()
    assert made == [["a", "b"], ["b", "c"]]
    assert lock_files(tmp_path) == []


def test_many_that_want_the_same_keys_do_not_wait_for_each_other_in_a_circle(tmp_path):
    made = []
    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(make, tmp_path, ["a", "b", "c"][:: (-1) ** turn], made) for turn in range(20)]:
            each.result(timeout=60)
    assert len(made) == 20


def test_who_fails_lets_go(tmp_path):
    with pytest.raises(KeyboardInterrupt), making(tmp_path, ["a"]):
        raise KeyboardInterrupt
    assert lock_files(tmp_path) == []


def test_nobody_waits_for_a_process_that_was_killed(tmp_path, waited):
    made = []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], **pipes, text=True)
    with holder, ThreadPoolExecutor(1) as pool:
        assert holder.stdout.readline() == "holds\n"
        other = pool.submit(make, tmp_path, ["a"], made)
        waited.wait()
        assert not made
        holder.kill()
        other.result(timeout=60)
    assert lock_files(tmp_path) == []


def test_patience_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_WAIT_S", 0.02)
    with ThreadPoolExecutor(1) as pool, making(tmp_path, ["a"]):
        pool.submit(make, tmp_path, ["a"], []).result(timeout=60)


def no_locks(*_args, **_how):
    raise OSError("No locks available")


OBSTACLES = {
    "no folder": (tempfile, "tempdir", "/nowhere/at/all"),
    "somebody else's": (files.os, "getuid", lambda: 12345),
    "no locks": (filelock.FileLock, "acquire", no_locks),
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_where_files_cannot_be_locked_everybody_makes_everything(tmp_path, monkeypatch, obstacle):
    monkeypatch.setattr(*obstacle)
    both = threading.Barrier(2, timeout=60)

    def make_with_the_other():
        with making(tmp_path, ["a"]):
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(make_with_the_other) for _ in range(2)]:
            each.result()
