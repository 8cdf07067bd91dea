"""A run split by tags, sizes, fields, types and failures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.aggregate import case_rows, extract_bench_rates
from pytest_extract.core.aggregate.slices import (
    NONE,
    SliceTable,
    case_dimensions,
    case_slices,
    known_tags,
    rank_correlation,
    slice_tables,
    tag_text,
    value_failure,
)
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING
from tests.core.aggregate.test_run import RUN, result, score
from tests.records import field_result
from tests.report.runs import GOLD, broken, scored, wrong


def table_of(results: list[CaseResult], by: str) -> SliceTable:
    (table,) = slice_tables(results, [by])
    return table


def tagged(name: str, extracted: object, domain: str | None, **keys: object) -> CaseResult:
    return scored(name, extracted, tags={} if domain is None else {"domain": domain}, **keys)


RUN_BY_DOMAIN = [
    tagged("a", GOLD, "finance"),
    tagged("b", wrong(total=1), "finance"),
    tagged("c", GOLD, "sport"),
    tagged("d", wrong(vendor=7), None),
]


def test_a_tag_splits_cases_and_pools_their_fields():
    table = table_of(RUN_BY_DOMAIN, "domain")
    assert table.labels == ["finance", "sport", NONE]
    finance = table.slices["finance", ""]
    assert (finance.cases, finance.outcomes[Outcome.PASSED], finance.rates.passed, finance.rates.fields) == (2, 1, 5, 6)
    assert finance.means["pass_rate"] == pytest.approx((1 + 2 / 3) / 2)
    assert (finance.values.match, finance.values.mismatch) == (11, 1)
    assert known_tags(RUN_BY_DOMAIN) == ["domain"]


def test_a_case_is_grouped_by_its_tags_and_what_it_is_itself():
    result = tagged("a", GOLD, "finance", modality="image")
    result = replace(result, tags={**result.tags, "depth": "deep"}, shape={"depth": 2, "fields": 30})
    assert case_slices(result) == {
        "domain": "finance", "tag:depth": "deep", "depth": "2", "breadth": "21 to 50", "modality": "image",
    }  # fmt: skip
    names = ["tag:domain", "tag:depth", "depth", "field", "failure", "response-length", "modality", "domain"]
    assert case_dimensions(names) == ["domain", "tag:depth", "depth", "modality", "domain"]
    assert set(case_dimensions(case_slices(result))) == set(case_slices(result))


@pytest.mark.parametrize("by", ["domain", "depth", "breadth", "output-size", "response-length", "modality"])
def test_the_slices_of_cases_add_up_to_the_run(by):
    runs = [*RUN_BY_DOMAIN, *RUN, broken("x", "no")]
    table = table_of(runs, by)
    assert sum(each.cases for each in table.slices.values()) == len(runs)
    assert sum(len(each.rows) for each in table.slices.values()) == sum(bool(one.scores) for one in runs)
    whole = extract_bench_rates(one for each in runs for one in each.scores)
    for name in ("documents", "valid", "fields", "passed", "valid_fields"):
        assert sum(getattr(each.rates, name) for each in table.slices.values()) == getattr(whole, name)
    total = table.totals.get("")
    if total is None:
        assert len(table.slices) == 1
        return
    assert (total.cases, total.rates) == (len(runs), whole)
    rows = list(case_rows(runs))
    weight = sum(row.weight for row in rows)
    assert total.means["f1"] == pytest.approx(sum(row.measures["f1"] for row in rows) / len(rows))
    assert total.weighted["f1"] == pytest.approx(sum(row.weight * row.measures["f1"] for row in rows) / weight)
    leaves = [leaf for each in runs for one in each.scores for leaf in one.leaves]
    assert total.values.total == sum(each.values.total for each in table.slices.values()) == len(leaves)
    assert total.values.records == {each.nodeid for each in runs for one in each.scores if one.leaves}


def test_an_invalid_output_counts_all_its_fields():
    table = table_of([result("a", score(1.0)), result("b", score(0.0, failure="no_json"))], "complexity")
    rates = table.slices["easy", ""].rates
    assert (rates.pass_rate, rates.accuracy_on_valid, rates.valid, rates.documents) == (0.5, 1.0, 1, 2)


def test_a_measure_of_some_cases_has_no_mean_in_their_slice():
    bounded = result("a", score(1.0))
    plain = result("b", replace(score(1.0), measures={"f1": 1.0}))
    assert "n_ted" not in table_of([plain, bounded], "complexity").slices["easy", ""].means
    assert table_of([bounded], "complexity").slices["easy", ""].means["n_ted"] == 1.0


def test_variants_are_apart_in_each_slice():
    runs = [tagged("a", GOLD, "finance", model="m"), tagged("a", wrong(total=1), "finance", model="n")]
    table = table_of(runs, "domain")
    assert [table.slices["finance", variant].rates.passed for variant in table.variants] == [3, 2]
    assert table.totals == {}
    more = table_of([*runs, tagged("b", GOLD, "sport", model="n")], "domain")
    assert {variant: each.rates.passed for variant, each in more.totals.items()} == {"n": 5}


def test_a_correlation_is_that_of_a_variant():
    sizes = {"m": (10, 20, 30), "n": (1, 2, 3)}
    outputs = {"m": (GOLD, wrong(total=1), wrong(total=1, vendor="x")), "n": (wrong(total=1, vendor="x"),) * 3}
    runs = [
        replace(scored(f"{variant}{size}", output, model=variant), shape={"values": size})
        for variant in sizes
        for size, output in zip(sizes[variant], outputs[variant], strict=True)
    ]
    assert table_of(runs, "output-size").correlations == {"m": pytest.approx(-1.0)}
    assert table_of(runs[3:], "output-size").correlations == {}
    assert table_of(runs, "modality").correlations == {}


@pytest.mark.parametrize(
    ("value", "name"),
    [("", '""'), ("  ", '"  "'), (None, NONE), ("1", "1"), (1, "1"), (["a"], '["a"]'), ("::error::x", '"::error::x"')],
)
def test_every_slice_has_a_name_that_can_be_seen(value, name):
    assert tag_text({"t": value}, "t") == name
    assert tag_text({}, "t") == NONE


def test_weighted_means_weigh_by_complexity():
    table = table_of(RUN, "modality")
    found = table.slices["text", ""]
    assert found.means["f1"] == pytest.approx((1 + 0.6 + 0) / 3)
    assert found.weighted["f1"] == pytest.approx((1 * 1 + 3 * 0.6 + 2 * 0) / 6)


def test_sizes_are_binned_in_the_order_of_numbers():
    sized = [
        replace(one, shape={**one.shape, "values": size}) for one, size in zip(RUN, (9, 10, 11, 700, 7), strict=True)
    ]
    assert table_of(sized, "output-size").labels == ["0 to 10", "11 to 20", "501 to 1,000"]
    numbered = [replace(one, tags={"depth": str(depth)}) for one, depth in zip(RUN, (2, 10, 9, 2, 10), strict=True)]
    assert table_of(numbered, "tag:depth").labels == ["2", "9", "10"]
    assert table_of(numbered, "depth").labels == ["2", "3", "5"]


def test_values_are_split_by_field_and_by_type():
    runs = [tagged("b", wrong(total="x"), None), tagged("c", wrong(vendor=None), None)]
    by_field = table_of(runs, "field")
    assert by_field.slices["total", ""].values.mismatch == 1
    assert by_field.slices["items[].name", ""].values.match == 4
    assert by_field.labels == ["total", "vendor", *sorted({*by_field.labels} - {"total", "vendor"})]
    by_type = table_of(runs, "type")
    assert set(by_type.labels) == {"number", "string"}
    assert by_type.slices["string", ""].values.omission == 1
    assert len(by_type.slices["number", ""].values.records) == 2


def test_failures_count_outputs_and_values():
    runs = [
        result("a", score(0.0, failure="no_json")),
        result("f", score(0.0, failure="refusal")),
        result("g", score(0.0, failure="empty_response")),
        scored("b", wrong(total="x")),
        scored("c", wrong(total=1)),
        scored("d", {key: value for key, value in GOLD.items() if key != "vendor"}),
        scored("e", {**GOLD, "more": 1}),
    ]
    table = table_of(runs, "failure")
    assert {key: each.failures for key, each in table.slices.items()} == {
        ("no output: empty_response", ""): 1,
        ("no output: refusal", ""): 1,
        ("no JSON could be read: no_json", ""): 1,
        ("schema violation", ""): 1,
        ("missing value", ""): 1,
        ("invented value", ""): 1,
        ("wrong type", ""): 1,
        ("wrong value", ""): 1,
    }
    assert table.labels[:3] == ["no output: empty_response", "no output: refusal", "no JSON could be read: no_json"]
    assert table.outputs == {"": 7}


@pytest.mark.parametrize(
    ("gold", "extracted", "kind"),
    [(1, 2.5, "wrong value"), (1, "1", "wrong type"), (True, 1, "wrong type"), ([1], "a", "wrong type"),
     ("a", "b", "wrong value"), (MISSING, 1, "wrong value")],
)  # fmt: skip
def test_a_mismatch_is_of_the_type_or_of_the_value(gold, extracted, kind):
    leaf = field_result("a", 1, 2, score=0.0)._replace(gold=gold, extracted=extracted, status=Status.MISMATCH)
    assert value_failure(leaf) == kind
    assert value_failure(leaf._replace(status=Status.MATCH)) is None


def test_rank_correlation_by_hand():
    assert rank_correlation([(1, 0.9), (2, 0.5), (3, 0.1)]) == pytest.approx(-1.0)
    assert rank_correlation([(1, 1), (2, 1), (2, 3), (4, 2)]) == pytest.approx(0.5)  # ranks 1 2.5 2.5 4 and 1.5 1.5 4 3
    assert rank_correlation([(1, 1), (2, 2)]) is None
    assert rank_correlation([(1, 1), (2, 1), (3, 1)]) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_rank_correlation_is_symmetric_and_bounded(pairs):
    found = rank_correlation(pairs)
    assert found is None or -1 - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(rank_correlation([(b, a) for a, b in pairs]))
    assert found == pytest.approx(rank_correlation([(10 * a**3, b) for a, b in pairs]))


def test_kinds_of_mistakes_are_counted():
    runs = [scored("a", wrong(total=90.72)), scored("b", wrong(total=9072.0)), scored("c", wrong(total=-907.2))]
    kinds = [each.kind for one in runs for score in one.scores for each in score.mistakes]
    assert len(kinds) == 3
    table = table_of(runs, "mistake")
    assert {kind: each.failures for (kind, _variant), each in table.slices.items()} == {
        kind: kinds.count(kind) for kind in kinds
    }


def test_a_tag_that_no_case_has_is_known_to_be_unknown():
    assert not table_of(RUN_BY_DOMAIN, "domian").is_known
    assert table_of(RUN_BY_DOMAIN, "domain").is_known
