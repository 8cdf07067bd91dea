"""What the repeats of a run print."""

from __future__ import annotations

import pytest

from pytest_extract.core.case_result import Variant
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import repeat_lines
from tests.regression.make import broken, result

WIDE = {f"f{number}": True for number in range(14)}


def told(*results, verbosity=0):
    return [text_of(line) for line in repeat_lines(results, verbosity=verbosity)]


@pytest.mark.parametrize("results", [[], [result("a", WIDE)], [broken("a")]], ids=["none", "one run", "broken"])
def test_without_repeats_there_is_nothing_to_tell(results):
    assert told(*results) == []


def test_pass_hat_k_and_unsteady_fields():
    runs = [{"n": True, "m": True}, {"n": False, "m": True}, {"n": True, "m": True}]
    assert told(result("a", *runs, variant=Variant(model="x"))) == [
        "repeats: pass^1 66.7 %, pass^2 33.3 %, pass^3 0 %; 1 unsteady field",
        "  invoices/acme.extract.yaml::a [x] n: passed 2 of 3 runs; twice in a row 33.3 %",
    ]


def test_steady_repeats_say_so():
    assert told(result("a", WIDE, WIDE)) == ["repeats: pass^1 100 %, pass^2 100 %; 0 unsteady fields"]


def test_many_unsteady_fields_are_cut_unless_asked_for():
    case = result("a", WIDE, dict.fromkeys(WIDE, False))
    assert told(case)[-1] == "  … and 4 more fields (-v shows all)"
    assert len(told(case, verbosity=1)) == 15
