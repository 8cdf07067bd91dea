"""Slots: never more at once than there are, in turns, and pytest's own thread first."""

from __future__ import annotations

import threading
import time

import pytest

from pytest_extract.plugin.extraction import Budget, CallSlots
from pytest_extract.run_case import NotRun


def until(condition):
    for _ in range(60_000):  # a minute: nothing but a failure of the test waits so long
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("it never came about")


@pytest.mark.parametrize("processes", ["one", "several"])
def test_pytests_own_thread_goes_before_those_that_wait(tmp_path, processes):
    slots = CallSlots(1, None if processes == "one" else tmp_path / "slots")
    queue = slots._turns
    order = []

    def work(name):
        with slots:
            order.append(name)

    def hold():
        with slots:
            taken.set()
            until(lambda: len(queue._changed._waiters) == len(threads) + 1)  # with this one

    taken = threading.Event()
    holder = threading.Thread(target=hold)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    if processes == "several":  # one more, to look for a free slot while the others wait for their turn to look
        looking = threading.Thread(target=work, args=("looking",))
    holder.start()
    taken.wait()
    if processes == "several":
        looking.start()
        until(lambda: queue._free == 0)
    for thread in threads:
        thread.start()
    until(lambda: len(queue._changed._waiters) == len(threads))
    work("main")
    for thread in (*threads, holder, *([looking] if processes == "several" else [])):
        thread.join()
    assert next(name for name in order if name != "looking") == "main"
    assert {0, 1, 2} <= {*order}


def test_a_slot_is_not_lost_when_the_wait_for_it_is_interrupted(monkeypatch):
    slots = CallSlots(1)
    with slots:
        monkeypatch.setattr(threading.Condition, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt), slots:
            pass
        monkeypatch.undo()
    with slots:
        assert not slots._turns._free


def interrupted(_self, _timeout=None):
    raise KeyboardInterrupt


def test_a_payment_is_read_once_and_those_of_other_processes_count(tmp_path):
    path = tmp_path / "spent"
    path.touch()
    budget, other = Budget(path, 1.0), Budget(path, 1.0)
    budget.spend(0.25)
    budget.check()
    path.write_text("x" * path.stat().st_size)  # what was read is not read again
    other.spend(0.5)
    budget.check()
    other.spend(0.25)
    with pytest.raises(NotRun, match="is spent"):
        budget.check()
    assert budget.notes() == []
