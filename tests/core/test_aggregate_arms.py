"""Arms side by side, as SOB's leaderboard has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_extract.core.aggregate_arms import standings
from pytest_extract.core.case_result import Outcome
from tests.core.test_aggregate import result, score


def case(name, *scores, model=None, modality="text", **how):
    made = result(f"{name}[{model}]", *scores, model=model, **how)
    return replace(made, case_id=name, modality=modality)


def test_an_arm_s_overall_is_its_mean_times_the_share_of_cases_with_a_score():
    (good, half, none) = standings(
        [
            case("a", score(0.5), model="half"),
            case("b", outcome=Outcome.BROKEN, model="half"),
            case("a", outcome=Outcome.BROKEN, model="none"),
            case("b", outcome=Outcome.NOT_RUN, model="none"),
            case("a", score(1.0), model="good"),
            case("b", score(0.5), model="good"),
        ]
    )
    assert [each.arm for each in (good, half, none)] == ["good", "half", "none"]
    assert good.row is not None
    assert (good.row.raw, good.coverage, good.overall) == (0.75, 1.0, 0.75)
    assert half.row is not None
    assert (half.row.raw, half.coverage, half.overall) == (0.5, 0.5, 0.25)
    assert (none.row, none.overall) == (None, 0.0)


def test_hard_cases_weigh_more():
    (arm,) = standings([case("a", score(1.0), complexity="easy"), case("b", score(0.0), complexity="hard")])
    assert arm.overall == pytest.approx(0.25)


def test_cases_of_unknown_complexity_weigh_alike():
    (arm,) = standings([case("a", score(1.0), complexity=None), case("b", score(0.0), complexity=None)])
    assert arm.overall == 0.5


def test_modalities_count_with_their_cases_and_audio_is_not_in_perfect():
    (arm,) = standings(
        [
            case("a", score(1.0), complexity="hard"),
            case("b", score(0.0), complexity="easy", modality="audio"),
        ]
    )
    assert arm.row is not None
    assert arm.row.modalities == ("text", "audio")
    assert arm.row.columns["value_accuracy"] == 0.75
    assert arm.row.columns["perfect_response"] == 1.0


def test_equal_arms_are_ranked_by_value_accuracy():
    def columns(**values):
        found = score(0.5)
        return {**found, "measures": {**found["measures"], **values}}

    first = columns(value_accuracy=0.4, faithfulness=0.6)
    second = columns(value_accuracy=0.6, faithfulness=0.4)
    found = standings([case("a", first, model="first"), case("a", second, model="second")])
    assert [each.arm for each in found] == ["second", "first"]


def test_no_results_give_no_rows():
    assert standings([]) == []
