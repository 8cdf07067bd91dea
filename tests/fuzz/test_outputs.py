"""The small ones of `tests/fuzz outputs` in this process, and one in a process of its own."""

from __future__ import annotations

import pytest

from tests.fuzz import outputs
from tests.fuzz.outputs import LIMIT_S, OUTPUTS, Output, in_process, judged, wrong_with

QUICK = [name for name, output in OUTPUTS.items() if not output.big and output.kinds]
assert len(QUICK) >= 60
assert len(OUTPUTS) >= 170


@pytest.mark.parametrize("name", QUICK)
def test_a_hostile_output_gets_its_kind(name):
    assert wrong_with(OUTPUTS[name], judged(OUTPUTS[name]), LIMIT_S) == ""


def test_a_process_of_its_own_gives_figures_and_is_stopped_in_time(monkeypatch):
    found = in_process("right")
    assert found["kind"] == "scored"
    assert 0 < found["score_s"] + found["tell_s"] < LIMIT_S
    monkeypatch.setattr(outputs, "STOP_S", 1)
    output = OUTPUTS["50 MB of JSON rows"]  # to make it alone takes more than a second
    found = in_process(output.name)
    assert found["kind"] == "KILLED after 1 s"
    assert wrong_with(output, found, LIMIT_S) == "no result"


def test_another_kind_counts_as_wrong():
    wanted = Output("x", lambda: "", frozenset({"no_json"}))
    assert wrong_with(wanted, judged(wanted), LIMIT_S) == "should be no_json"
