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


def lock_files(folder):
    return [*(folder / "temporary").glob("*/*.lock")]


def make(folder, keys, made):
    with making(folder, keys):
        made.append(keys)


def test_who_wants_one_of_the_same_keys_waits_until_it_is_made(tmp_path, waited):
    made = []
    with ThreadPoolExecutor(1) as pool, making(tmp_path, ["a", "b"]):
        other = pool.submit(make, tmp_path, ["b", "c"], made)
        waited.wait()
        made.append(["a", "b"])
    other.result()
    assert made == [["a", "b"], ["b", "c"]]
    assert lock_files(tmp_path) == []


@pytest.mark.parametrize("store_and_keys", [("one", ["b"]), ("two", ["a"])], ids=["another key", "another store"])
def test_nobody_waits_for_another_matter(tmp_path, store_and_keys):
    store, keys = store_and_keys
    with ThreadPoolExecutor(1) as pool, making(tmp_path / "one", ["a"]):
        pool.submit(make, tmp_path / store, keys, []).result(timeout=60)


def test_many_that_want_the_same_keys_do_not_wait_for_each_other_in_a_circle(tmp_path):
    made = []
    with ThreadPoolExecutor(4) as pool:
        all_of_them = [pool.submit(make, tmp_path, ["a", "b", "c"][:: (-1) ** turn], made) for turn in range(20)]
        for each in all_of_them:
            each.result(timeout=60)
    assert len(made) == 20


def test_who_fails_lets_go(tmp_path):
    with pytest.raises(KeyboardInterrupt), making(tmp_path, ["a"]):
        raise KeyboardInterrupt
    assert lock_files(tmp_path) == []


def test_nobody_waits_for_a_process_that_was_killed(tmp_path, waited):
    made = []
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder, ThreadPoolExecutor(1) as pool:
        assert holder.stdout is not None
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


@pytest.mark.parametrize("why", ["no folder", "somebody else's", "no locks"])
def test_where_files_cannot_be_locked_everybody_makes_everything(tmp_path, monkeypatch, why):
    if why == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    elif why == "somebody else's":
        monkeypatch.setattr("os.getuid", lambda: 12345)
    else:
        monkeypatch.setattr(filelock.FileLock, "acquire", no_locks)
    both = threading.Barrier(2, timeout=60)

    def make_with_the_other():
        with making(tmp_path, ["a"]):
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(make_with_the_other) for _ in range(2)]:
            each.result()
