"""Slots: never more at once than there are, and none is lost; the budget of all processes."""

from __future__ import annotations

import threading

import pytest

from pytest_extract.plugin.extraction import Budget, CallSlots
from pytest_extract.run_case import NotRun


def test_a_slot_is_not_lost_when_the_wait_for_it_is_interrupted(monkeypatch):
    def interrupted(_self, _timeout=None):
        raise KeyboardInterrupt

    slots = CallSlots(1)
    with slots:
        monkeypatch.setattr(threading.Condition, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt), slots:
            pass
        monkeypatch.undo()
    with slots:
        assert not slots._free.acquire(blocking=False)


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
