"""Of all that want the same thing at once, one makes it; nobody waits for the dead, or for ever."""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
import threading

import pytest

from pytest_extract.sharing import claims, place
from pytest_extract.sharing.claims import Claims
from pytest_extract.sharing.place import SharedFolder

HOLD = """
import sys
from pathlib import Path
from pytest_extract.sharing.claims import Claims

with Claims(Path(sys.argv[1])).claim(["a"]) as claim:
    print(*claim.mine, flush=True)
    sys.stdin.read()
"""


def left_over(folder):
    with SharedFolder(folder).turn() as notes:
        return SharedFolder(folder).paths(notes, "")


def test_what_nobody_makes_is_claimed_and_let_go_of(tmp_path):
    for _ in range(2):
        with Claims(tmp_path).claim(["a", "b"]) as claim:
            assert (claim.mine, claim.theirs) == ({"a", "b"}, set())
    assert left_over(tmp_path) == []


def test_keys_are_parted_between_those_who_want_them(tmp_path):
    with Claims(tmp_path).claim(["a", "b"]), Claims(tmp_path).claim(["b", "c"]) as second:
        assert (second.mine, second.theirs) == ({"c"}, {"b"})
        with Claims(tmp_path).claim(["a", "c"]) as third:
            assert (third.mine, third.theirs) == (set(), {"a", "c"})
    second.forget()
    third.forget()


def test_another_folder_is_another_matter(tmp_path):
    with Claims(tmp_path / "one").claim(["a"]), Claims(tmp_path / "two").claim(["a"]) as claim:
        assert claim.mine == {"a"}


def test_who_waits_goes_on_when_the_other_has_finished(tmp_path, waited):
    made = []

    def make():
        with Claims(tmp_path).claim(["a"]):
            claimed.set()
            waited.wait()
            made.append("a")

    claimed = threading.Event()
    maker = threading.Thread(target=make)
    maker.start()
    claimed.wait()
    with Claims(tmp_path).claim(["a"]) as claim:
        assert not claim.mine
    claim.wait()
    assert made == ["a"]
    maker.join()


def test_who_fails_lets_go(tmp_path):
    with pytest.raises(KeyboardInterrupt), Claims(tmp_path).claim(["a"]):
        raise KeyboardInterrupt
    with Claims(tmp_path).claim(["a"]) as claim:
        assert claim.mine == {"a"}


def test_nobody_waits_for_a_process_that_was_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "a\n"
        with Claims(tmp_path).claim(["a"]) as claim:
            assert claim.theirs == {"a"}
        holder.kill()
    claim.wait()
    with Claims(tmp_path).claim(["a"]) as claim:
        assert claim.mine == {"a"}
    assert left_over(tmp_path) == []


def test_patience_ends(tmp_path):
    with Claims(tmp_path).claim(["a"]), Claims(tmp_path).claim(["a"]) as claim:
        claim.wait(patience_s=0.0)
        assert claim.theirs == {"a"}


def test_an_interrupted_wait_keeps_no_file_open(tmp_path, monkeypatch):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(claims.time, "sleep", interrupted)
    with Claims(tmp_path).claim(["a"]), Claims(tmp_path).claim(["a"]) as claim:
        with pytest.raises(KeyboardInterrupt):
            claim.wait()
        assert claim._files == []


def no_locks(_file, **_how):
    raise OSError(errno.ENOLCK, "No locks available")


@pytest.mark.parametrize("why", ["no folder", "somebody else's", "no locks", "no lock on a claim"])
def test_where_notes_cannot_be_left_everybody_makes_everything(tmp_path, monkeypatch, why):
    if why == "no folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    elif why == "somebody else's":
        monkeypatch.setattr("os.getuid", lambda: 12345)
    else:
        monkeypatch.setattr(place if why == "no locks" else claims, "try_lock", no_locks)
    with Claims(tmp_path).claim(["a"]) as first, Claims(tmp_path).claim(["a"]) as second:
        assert first.mine == second.mine == {"a"}


def test_a_turn_that_somebody_keeps_is_not_waited_for_without_patience(tmp_path):
    with SharedFolder(tmp_path).turn(), pytest.raises(TimeoutError), SharedFolder(tmp_path).turn(patience_s=0.0):
        pass
