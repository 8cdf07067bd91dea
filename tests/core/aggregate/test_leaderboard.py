"""Variants side by side, as SOB's leaderboard has them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from pytest_extract.core.aggregate import MODALITIES, standings
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.complexity import WEIGHTS
from pytest_extract.core.measures import PUBLISHED_NAMES
from tests.core.aggregate.test_run import result, score
from tests.shared_data import shared


def case(name, *scores, model=None, modality="text", **how):
    made = result(f"{name}[{model}]", *scores, model=model, **how)
    return replace(made, case_id=name, modality=modality)


def test_a_variant_s_overall_is_its_mean_times_the_share_of_cases_with_a_score():
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
    assert [each.variant for each in (good, half, none)] == ["good", "half", "none"]
    assert good.row is not None
    assert (good.row.raw, good.coverage, good.overall) == (0.75, 1.0, 0.75)
    assert half.row is not None
    assert (half.row.raw, half.coverage, half.overall) == (0.5, 0.5, 0.25)
    assert (none.row, none.overall) == (None, 0.0)


def test_hard_cases_weigh_more():
    (variant,) = standings([case("a", score(1.0), complexity="easy"), case("b", score(0.0), complexity="hard")])
    assert variant.overall == pytest.approx(0.25)


def test_cases_of_unknown_complexity_weigh_alike():
    (variant,) = standings([case("a", score(1.0), complexity=None), case("b", score(0.0), complexity=None)])
    assert variant.overall == 0.5


def test_modalities_count_with_their_cases_and_audio_is_not_in_perfect():
    (variant,) = standings(
        [
            case("a", score(1.0), complexity="hard"),
            case("b", score(0.0), complexity="easy", modality="audio"),
        ]
    )
    assert variant.row is not None
    assert variant.row.modalities == ("text", "audio")
    assert variant.row.columns["value_accuracy"] == 0.75
    assert variant.row.columns["perfect_response"] == 1.0


def test_equal_variants_are_ranked_by_value_accuracy():
    def columns(**values):
        found = score(0.5)
        return replace(found, measures={**found.measures, **values})

    first = columns(value_accuracy=0.4, faithfulness=0.6)
    second = columns(value_accuracy=0.6, faithfulness=0.4)
    found = standings([case("a", first, model="first"), case("a", second, model="second")])
    assert [each.variant for each in found] == ["second", "first"]


def test_variants_whose_outputs_all_break_the_schema_are_ranked_by_pass_rate():
    def without_schema(rate):
        found = score(0.0)
        return replace(found, measures={**found.measures, "pass_rate": rate})

    rates = {"bad": 0.25, "good": 0.75, "fair": 0.5}
    found = standings([case("a", without_schema(rate), model=model) for model, rate in rates.items()])
    assert [(each.variant, each.overall) for each in found] == [("good", 0.0), ("fair", 0.0), ("bad", 0.0)]


def published_cases(folder: str) -> list[CaseResult]:
    """All records of one published model as our results: the columns that the leaderboard reads."""
    classes = {weight: name for name, weight in WEIGHTS.items()}
    ours = {column: measure for measure, column in PUBLISHED_NAMES.items()}
    found = []
    for kind in MODALITIES:
        path = shared(f"vectors/sob_aggregate/{kind}__{folder}.json.gz")
        columns = json.loads(gzip.decompress(path.read_bytes()))["columns"]
        for index, weight in enumerate(columns["difficulty_weight"]):
            own = {ours[name]: values[index] for name, values in columns.items() if name in ours}
            made = score(0.0)
            given = replace(made, measures={**made.measures, **own})
            found.append(case(f"{kind}{index}", given, modality=kind, model=folder, complexity=classes[weight]))
    return found


@pytest.mark.slow
def test_published_records_give_the_published_rows():
    published = json.loads(shared("vectors/sob_aggregate/leaderboard.json").read_text(encoding="utf-8"))
    rows = {row["model_dir"]: row for row in published["rows"]}
    folders = {
        path.name.split("__")[1].removesuffix(".json.gz") for path in shared("vectors/sob_aggregate").glob("*.gz")
    }
    known = sorted(folders & rows.keys())
    assert len(known) > 3
    variants = {each.variant: each for each in standings([one for folder in known for one in published_cases(folder)])}
    assert list(variants) == sorted(variants, key=lambda name: -rows[name]["overall"])
    for name, variant in variants.items():
        assert variant.row is not None
        assert variant.overall == pytest.approx(rows[name]["overall"], abs=1e-9)
        for column, value in variant.row.columns.items():
            assert value == pytest.approx(rows[name][column], abs=1e-9), (name, column)


def test_no_results_give_no_rows():
    assert standings([]) == []
