from __future__ import annotations

from typing import Any

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.report.run_report import RunReport, headline
from tests.report.runs import GOLD, broken, case, scored, wrong

GOOD = [scored("a", GOLD), scored("b", GOLD)]
BAD = [scored("a", GOLD), scored("b", wrong(total=1))]
DOWN = broken("c", "down")
VARIANTS = [*BAD, scored("b", wrong(total=1), model="m"), broken("b", "down", model="n")]
LATER = case("d", Outcome.NOT_RUN, why="the budget is spent")
FELL = [scored(f"c{index}", GOLD, model="a") for index in range(8)]
FELL += [scored(f"c{index}", wrong(total=1, vendor="x"), model="b") for index in range(8)]
DOUBTFUL = [scored(f"c{index}", GOLD, model="a") for index in range(20)]
DOUBTFUL += [scored(f"c{index}", wrong(total=1) if index < 4 else GOLD, model="b") for index in range(20)]
SAME = [scored(f"c{index}", GOLD, model=model) for index in range(80) for model in "ab"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        pytest.param({"results": GOOD}, ("good", "Passed", "all 2 cases passed"), id="green"),
        pytest.param({"results": BAD}, ("bad", "Failed", "1 of 2 cases failed"), id="failed"),
        pytest.param(
            {"results": [*BAD, DOWN]}, ("bad", "Failed", "1 of 3 cases failed", "1 of 3 cases broken"), id="and broken"
        ),
        pytest.param({"results": [*GOOD, DOWN]}, ("bad", "Failed", "1 of 3 cases broken"), id="broken"),
        pytest.param(
            {"results": [*GOOD, DOWN], "gate": "none"}, ("bad", "Failed", "1 of 3 cases broken"), id="broken, no gate"
        ),
        pytest.param({"results": [*GOOD, LATER]}, ("warn", "Not complete", "1 of 3 cases not run"), id="not run"),
        pytest.param(
            {"results": GOOD, "mistakes": ["x"]}, ("bad", "Failed", "1 case file with mistakes"), id="mistakes"
        ),
        pytest.param(
            {"results": VARIANTS},
            ("bad", "Failed", "(no model): 1 of 2 cases failed", "m: 1 of 1 case failed", "1 of 4 cases broken"),
            id="variants",
        ),
        pytest.param({"results": []}, ("warn", "Nothing run", "no case was run"), id="nothing"),
        pytest.param(
            {"results": BAD, "expected": frozenset({BAD[1].nodeid})},
            ("good", "Passed", "1 of 2 cases passed", "1 case not green as an xfail mark says"),
            id="expected",
        ),
        pytest.param(
            {"results": BAD, "gate": "none"},
            ("warn", "No gate", "1 of 2 cases passed", "1 of 2 cases below their thresholds"),
            id="no gate",
        ),
        pytest.param(
            {"results": BAD, "gate": "suite", "suite": [(True, "f1 reaches 0.5"), (False, "pass_rate 0.7 < 0.9")]},
            ("bad", "Failed", "pass_rate 0.7 < 0.9", "1 of 2 cases below their thresholds"),
            id="suite missed",
        ),
        pytest.param(
            {"results": BAD, "gate": "suite", "suite": [(True, "f1 reaches 0.5")]},
            ("good", "Passed", "1 of 2 cases passed", "1 of 2 cases below their thresholds"),
            id="suite reached",
        ),
        pytest.param(
            {"results": GOOD, "gate": "regression"}, ("bad", "Nothing compared", "nothing was compared"), id="no"
        ),
    ],
)
def test_headline(keys: dict[str, Any], told: tuple[str, ...]) -> None:
    found = headline(RunReport(**keys))
    assert (found.tone, found.word, found.text, *found.reasons) == told


@pytest.mark.parametrize(
    ("results", "inconclusive", "tone", "word"),
    [
        pytest.param(FELL, "warn", "bad", "WORSE", id="worse"),
        pytest.param(SAME, "warn", "good", "PASS", id="not worse"),
        pytest.param(DOUBTFUL, "warn", "warn", "UNDECIDED", id="doubtful"),
        pytest.param(DOUBTFUL, "fail", "bad", "UNDECIDED", id="doubtful, fail"),
        pytest.param([*SAME, DOWN], "warn", "bad", "PASS", id="broken"),
        pytest.param([*SAME, LATER], "warn", "warn", "PASS", id="not run"),
    ],
)
def test_headline_of_a_comparison(results: list[Any], inconclusive: Any, tone: str, word: str) -> None:
    compared = [result for result in results if result.variant.model]
    judged = evaluate_base(compared, "a", Rules())
    found = headline(RunReport(results=results, gate="regression", judged=judged, inconclusive=inconclusive))
    assert (found.tone, found.word) == (tone, word)
    assert found.text == judged.reasons[0]
