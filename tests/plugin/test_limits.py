"""Slots of calls: none is lost."""

from __future__ import annotations

import threading

import pytest

from pytest_extract.plugin.extraction import CallSlots


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
