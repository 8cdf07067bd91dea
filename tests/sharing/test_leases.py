"""Of all that want the same thing at once, one makes it; nobody waits for the dead, or for ever."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading

import pytest

from pytest_extract import sharing
from pytest_extract.sharing import Leases, SharedNotes

HOLD = """
import sys
from pathlib import Path
from pytest_extract.sharing import Leases

with Leases(Path(sys.argv[1])).lease(["a"]) as lease:
    print(*lease.mine, flush=True)
    sys.stdin.read()
"""


def left_over(folder):
    with SharedNotes(folder).exclusive() as notes:
        return SharedNotes(folder).paths(notes, "")


def test_what_nobody_makes_is_claimed_and_let_go_of(tmp_path):
    for _ in range(2):
        with Leases(tmp_path).lease(["a", "b"]) as lease:
            assert (lease.mine, lease.theirs) == ({"a", "b"}, set())
    assert left_over(tmp_path) == []


def test_keys_are_parted_between_those_who_want_them(tmp_path):
    with Leases(tmp_path).lease(["a", "b"]), Leases(tmp_path).lease(["b", "c"]) as second:
        assert (second.mine, second.theirs) == ({"c"}, {"b"})
        with Leases(tmp_path).lease(["a", "c"]) as third:
            assert (third.mine, third.theirs) == (set(), {"a", "c"})
    second.close()
    third.close()


def test_another_folder_is_another_matter(tmp_path):
    with Leases(tmp_path / "one").lease(["a"]), Leases(tmp_path / "two").lease(["a"]) as lease:
        assert lease.mine == {"a"}


def test_who_waits_goes_on_when_the_other_has_finished(tmp_path, waited):
    made = []

    def make():
        with Leases(tmp_path).lease(["a"]):
            claimed.set()
            waited.wait()
            made.append("a")

    claimed = threading.Event()
    maker = threading.Thread(target=make)
    maker.start()
    claimed.wait()
    with Leases(tmp_path).lease(["a"]) as lease:
        assert not lease.mine
    lease.wait()
    assert made == ["a"]
    maker.join()


def test_who_fails_lets_go(tmp_path):
    with pytest.raises(KeyboardInterrupt), Leases(tmp_path).lease(["a"]):
        raise KeyboardInterrupt
    with Leases(tmp_path).lease(["a"]) as lease:
        assert lease.mine == {"a"}


def test_nobody_waits_for_a_process_that_was_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "a\n"
        with Leases(tmp_path).lease(["a"]) as lease:
            assert lease.theirs == {"a"}
        holder.kill()
    lease.wait()
    with Leases(tmp_path).lease(["a"]) as lease:
        assert lease.mine == {"a"}
    assert left_over(tmp_path) == []


def test_patience_ends(tmp_path):
    with Leases(tmp_path).lease(["a"]), Leases(tmp_path).lease(["a"]) as lease:
        lease.wait(longest_s=0.0)
        assert lease.theirs == {"a"}


def test_an_interrupted_wait_keeps_no_file_open(tmp_path, monkeypatch):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(sharing.time, "sleep", interrupted)
    with Leases(tmp_path).lease(["a"]), Leases(tmp_path).lease(["a"]) as lease:
        with pytest.raises(KeyboardInterrupt):
            lease.wait()
        assert lease._files == []


def no_locks(file, *, only_leases, shared=False):
    if only_leases and os.fstat(file).st_size == 0:  # the file of the turn is empty
        return True
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("why", ["no folder", "somebody else's", "no locks", "no lock on a lease"])
def test_where_notes_cannot_be_left_everybody_makes_everything(tmp_path, monkeypatch, why):
    if why == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    elif why == "somebody else's":
        monkeypatch.setattr("os.getuid", lambda: 12345)
    else:
        only_leases = why == "no lock on a lease"
        monkeypatch.setattr(sharing, "try_lock", lambda file, **how: no_locks(file, only_leases=only_leases, **how))
    with Leases(tmp_path).lease(["a"]) as first, Leases(tmp_path).lease(["a"]) as second:
        assert first.mine == second.mine == {"a"}


def test_a_turn_that_somebody_keeps_is_not_waited_for_without_patience(tmp_path):
    with (
        SharedNotes(tmp_path).exclusive(),
        pytest.raises(TimeoutError),
        SharedNotes(tmp_path).exclusive(longest_wait_s=0.0),
    ):
        pass
