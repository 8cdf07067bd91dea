"""A run split by tags, sizes, fields, types and failures, and where its lists break off."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.aggregate import case_rows, extract_bench_rates
from pytest_extract.core.aggregate.slices import (
    NONE,
    FoundRows,
    Recall,
    case_dimensions,
    case_slices,
    list_recall,
    rank_correlation,
    slice_tables,
    tag_text,
    value_failure,
)
from pytest_extract.core.case_result import Outcome
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING
from tests.core.aggregate.test_run import RUN, result, score
from tests.cpu_time import cpu_seconds
from tests.records import field_result
from tests.report.runs import GOLD, broken, scored, wrong


def table_of(results, by):
    (table,) = slice_tables(results, [by])
    return table


def tagged(name, extracted, domain, **keys):
    return scored(name, extracted, tags={} if domain is None else {"domain": domain}, **keys)


RUN_BY_DOMAIN = [
    tagged("a", GOLD, "finance"),
    tagged("b", wrong(total=1), "finance"),
    tagged("c", GOLD, "sport"),
    tagged("d", wrong(vendor=7), None),
]


def test_a_tag_splits_cases_and_pools_their_fields():
    table = table_of(RUN_BY_DOMAIN, "domain")
    assert table.is_known
    assert table.labels == ["finance", "sport", NONE]
    finance = table.slices["finance", ""]
    assert (finance.cases, finance.outcomes[Outcome.PASSED], finance.rates.passed, finance.rates.fields) == (2, 1, 5, 6)
    assert finance.means["pass_rate"] == pytest.approx((1 + 2 / 3) / 2)
    assert (finance.values.match, finance.values.mismatch) == (11, 1)
    assert not table_of(RUN_BY_DOMAIN, "domian").is_known


def test_a_case_is_grouped_by_its_tags_and_what_it_is_itself():
    result = tagged("a", GOLD, "finance", modality="image")
    result = replace(result, tags={**result.tags, "depth": "deep"}, shape={"depth": 2, "fields": 30})
    found = {"domain": "finance", "tag:depth": "deep", "depth": "2", "breadth": "21 to 50", "modality": "image"}
    assert case_slices(result) == found
    names = ["tag:domain", "tag:depth", "depth", "field", "failure", "response-length", "modality", "domain"]
    assert case_dimensions(names) == ["domain", "tag:depth", "depth", "modality", "domain"]
    assert set(case_dimensions(found)) == set(found)


@pytest.mark.parametrize("by", ["domain", "depth", "breadth", "output-size", "response-length", "modality"])
def test_the_slices_of_cases_add_up_to_the_run(by):
    runs = [*RUN_BY_DOMAIN, *RUN, broken("x", "no")]
    table = table_of(runs, by)
    slices = table.slices.values()
    assert sum(each.cases for each in slices) == len(runs)
    assert sum(len(each.rows) for each in slices) == sum(bool(one.scores) for one in runs)
    whole = extract_bench_rates(one for each in runs for one in each.scores)
    for name in ("documents", "valid", "fields", "passed", "valid_fields"):
        assert sum(getattr(each.rates, name) for each in slices) == getattr(whole, name)
    if "" not in table.totals:
        assert len(slices) == 1
        return
    total, rows = table.totals[""], list(case_rows(runs))
    assert (total.cases, total.rates) == (len(runs), whole)
    weight = sum(row.weight for row in rows)
    assert total.means["f1"] == pytest.approx(sum(row.measures["f1"] for row in rows) / len(rows))
    assert total.weighted["f1"] == pytest.approx(sum(row.weight * row.measures["f1"] for row in rows) / weight)
    leaves = [leaf for each in runs for one in each.scores for leaf in one.leaves]
    assert total.values.total == sum(each.values.total for each in slices) == len(leaves)
    assert total.values.records == {each.nodeid for each in runs for one in each.scores if one.leaves}


def test_rates_and_means_of_a_slice():
    table = table_of([result("a", score(1.0)), result("b", score(0.0, failure="no_json"))], "complexity")
    rates = table.slices["easy", ""].rates  # an invalid output counts all its fields
    assert (rates.pass_rate, rates.accuracy_on_valid, rates.valid, rates.documents) == (0.5, 1.0, 1, 2)
    bounded, plain = result("a", score(1.0)), result("b", replace(score(1.0), measures={"f1": 1.0}))
    assert "n_ted" not in table_of([plain, bounded], "complexity").slices["easy", ""].means, "a measure of some cases"
    assert table_of([bounded], "complexity").slices["easy", ""].means["n_ted"] == 1.0
    found = table_of(RUN, "modality").slices["text", ""]
    assert (found.means["f1"], found.weighted["f1"]) == pytest.approx(((1 + 0.6) / 3, (1 + 3 * 0.6) / 6))


def test_variants_are_apart_in_each_slice():
    runs = [tagged("a", GOLD, "finance", model="m"), tagged("a", wrong(total=1), "finance", model="n")]
    table = table_of(runs, "domain")
    assert [table.slices["finance", variant].rates.passed for variant in table.variants] == [3, 2]
    assert table.totals == {}
    more = table_of([*runs, tagged("b", GOLD, "sport", model="n")], "domain")
    assert {variant: each.rates.passed for variant, each in more.totals.items()} == {"n": 5}


@pytest.mark.parametrize(
    ("value", "name"),
    [("", '""'), ("  ", '"  "'), (None, NONE), ("1", "1"), (1, "1"), (["a"], '["a"]'), ("::error::x", '"::error::x"')],
)
def test_every_slice_has_a_name_that_can_be_seen(value, name):
    assert tag_text({"t": value}, "t") == name
    assert tag_text({}, "t") == NONE


def test_sizes_are_binned_in_the_order_of_numbers():
    sizes = (9, 10, 11, 700, 7)
    sized = [replace(one, shape={**one.shape, "values": size}) for one, size in zip(RUN, sizes, strict=True)]
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
    without_vendor = {key: value for key, value in GOLD.items() if key != "vendor"}
    outputs = [wrong(total="x"), wrong(total=1), without_vendor, {**GOLD, "more": 1}]
    runs = [result(kind, score(0.0, failure=kind)) for kind in ("no_json", "refusal", "empty_response")]
    table = table_of([*runs, *(scored(f"s{n}", output) for n, output in enumerate(outputs))], "failure")
    first = ["no output: empty_response", "no output: refusal", "no JSON could be read: no_json"]
    assert table.labels[:3] == first
    assert {key: each.failures for key, each in table.slices.items()} == {
        (name, ""): 1
        for name in (*first, "schema violation", "missing value", "invented value", "wrong type", "wrong value")
    }
    assert table.outputs == {"": 7}


@pytest.mark.parametrize(
    ("gold", "extracted", "kind"),
    [
        (1, 2.5, "wrong value"),
        (1, "1", "wrong type"),
        (True, 1, "wrong type"),
        ([1], "a", "wrong type"),
        ("a", "b", "wrong value"),
        (MISSING, 1, "wrong value"),
    ],
)
def test_a_mismatch_is_of_the_type_or_of_the_value(gold, extracted, kind):
    leaf = field_result("a", 1, 2, score=0.0)._replace(gold=gold, extracted=extracted, status=Status.MISMATCH)
    assert value_failure(leaf) == kind
    assert value_failure(leaf._replace(status=Status.MATCH)) is None


def test_kinds_of_mistakes_are_counted():
    runs = [scored("a", wrong(total=90.72)), scored("b", wrong(total=9072.0)), scored("c", wrong(total=-907.2))]
    kinds = [each.kind for one in runs for score in one.scores for each in score.mistakes]
    assert len(kinds) == 3
    found = {kind: each.failures for (kind, _), each in table_of(runs, "mistake").slices.items()}
    assert found == {kind: kinds.count(kind) for kind in kinds}


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([(1, 0.9), (2, 0.5), (3, 0.1)], -1.0),
        ([(1, 1), (2, 1), (2, 3), (4, 2)], 0.5),  # ranks 1 2.5 2.5 4 and 1.5 1.5 4 3
        ([(1, 1), (2, 2)], None),
        ([(1, 1), (2, 1), (3, 1)], None),
    ],
)
def test_rank_correlation_by_hand(pairs, found):
    assert rank_correlation(pairs) == (found if found is None else pytest.approx(found))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_rank_correlation_is_symmetric_and_bounded(pairs):
    found = rank_correlation(pairs)
    assert found is None or -1 - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(rank_correlation([(b, a) for a, b in pairs]))
    assert found == pytest.approx(rank_correlation([(10 * a**3, b) for a, b in pairs]))


# --- where lists break off: recall by position and by length, the edge and its interval


def lists(kind, edge, seed=1, count=40):
    """Make lists of 5 to 1,500 rows, of which one row in a hundred is missing, and more beyond an edge."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        length = int(10 ** rng.uniform(0.7, 3.2))
        lost = 0.4 if kind == "length" and length > edge else 0.01
        cut = edge if kind == "position" else length
        made.append(FoundRows(length, tuple(at for at in range(length) if at >= cut or rng.random() < lost)))
    return made


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("edge", [40, 300])
@pytest.mark.parametrize("kind", ["position", "length"])
def test_the_edge_is_found_within_its_interval(kind, edge, seed):
    found = list_recall("items", "", lists(kind, edge, seed)).edge
    assert (found.by, found.low <= edge <= found.high) == (kind, True)
    assert found.before > 0.97
    assert found.after < 0.7
    if kind == "position":
        assert found.at == edge


def test_rows_that_are_missing_by_chance_are_no_edge():
    edges = [list_recall("items", "", lists("none", 0, seed, count=20)).edge for seed in range(20)]
    assert sum(edge is not None for edge in edges) <= 3


def test_rows_are_counted_by_position_and_by_length():
    found = list_recall("items", "m", [FoundRows(12, (11,)), FoundRows(3, ()), FoundRows(40, (0, 35))])
    assert (found.lists, found.longest, found.total) == (3, 40, Recall(55, 52))
    assert found.by_position == {10: Recall(23, 22), 30: Recall(22, 21), 100: Recall(10, 9)}
    assert found.by_length == {10: Recall(3, 3), 30: Recall(12, 11), 100: Recall(40, 38)}
    edge = list_recall("items", "", [FoundRows(200, tuple(range(150, 200)))]).edge
    assert (edge.by, edge.at, edge.after) == ("position", 150, 0.0), "one list without its end"


def test_long_lists_take_little_time():
    broken_off = [FoundRows(20_000, tuple(range(12_000, 20_000)))] * 8
    assert cpu_seconds(lambda: list_recall("items", "", broken_off), calls=1) < 3
