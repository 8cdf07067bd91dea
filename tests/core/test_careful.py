"""What scoring does not let pass: functions of a project that change their values, misspelt places, lost rows."""

from __future__ import annotations

import pytest

from pytest_extract import Extensions, compile_schema, extend
from pytest_extract.core.output_shape import ReportedMetadata, unwrap
from pytest_extract.core.results import Status
from pytest_extract.errors import ConfigError, SchemaError

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def schema(**properties):
    return {"type": "object", "properties": properties}


def test_a_group_of_fields_around_another_waits_for_itself_alone():
    @extend.compound("first", "last")
    def person(gold, extracted):
        return float(gold == extracted)

    part = {"type": "string", "x-eval-compare": "person"}
    inner = schema(first=part, last=part)
    scorer = compile_schema(schema(first=part, last=part, kid=inner), extensions=Extensions.of(person))
    gold = {"first": "A", "last": "B", "kid": {"first": "C", "last": "D"}}
    score = scorer.score(gold, {**gold, "kid": {"first": "C", "last": "E"}})
    told = {str(leaf.path): leaf.status for leaf in score.leaves}
    assert told == {
        "first": Status.MATCH,
        "last": Status.SKIPPED,
        "kid.first": Status.MISMATCH,
        "kid.last": Status.SKIPPED,
    }


@pytest.mark.parametrize(("gold", "extracted"), [(None, "n/a"), ("n/a", None), ("n/a", "n/a"), (None, None)])
def test_what_stands_for_nothing_equals_null_under_all_semantics(gold, extracted):
    scorer = compile_schema(
        schema(note={"type": ["string", "null"]}, n=NUMBER),
        post_process={"name": "reclassify_nulls", "absent_values": [None, "n/a"]},
    )
    score = scorer.score({"note": gold, "n": 1}, {"note": extracted, "n": 1})
    assert score.measures["f1"] == 1.0
    assert not [leaf for leaf in score.leaves if leaf.status in (Status.OMISSION, Status.HALLUCINATION)]


@pytest.mark.parametrize("output", ["see table", [{"a": 1, "b": 2}, "x"]])
def test_rows_lost_to_another_type_are_lost_rows(output):
    rows = {"type": ["array", "string"], "items": schema(a=NUMBER, b=NUMBER)}
    gold = {"items": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}
    measures = compile_schema(schema(items=rows)).score(gold, {"items": output}, gates={"schema": False}).measures
    assert measures["row_recall"] == (0.0 if isinstance(output, str) else 0.5)


def test_no_function_of_a_project_changes_a_gold():
    @extend.aligner()
    def sorting(gold, extracted):
        gold.sort()
        extracted.clear()
        return [(0, 0)]

    @extend.measure()
    def popping(gold, extracted):
        gold.pop("tags")
        return 1.0

    tags = {"type": "array", "items": TEXT}
    scorer = compile_schema(
        schema(tags=tags), overrides={"tags": {"align": "sorting"}}, extensions=Extensions.of(sorting, popping)
    )
    gold, extracted = {"tags": ["b", "a"]}, {"tags": ["b", "a"]}
    scores = [scorer.score(gold, extracted) for _ in range(2)]
    assert (gold, extracted) == ({"tags": ["b", "a"]}, {"tags": ["b", "a"]})
    assert scores[0].measures == scores[1].measures


@pytest.mark.parametrize(
    ("gold", "extracted", "kind"),
    [
        ("$10", "€10", "marks"),
        ("≤ 5 mg", "≥ 5 mg", "marks"),
        ("C#", "C++", "marks"),
        ("3/4", "34", "marks"),
        ("$1,200.00", "1,200.00", "markup"),
        ("- 5", "5", "markup"),
        ("INV-100", "INV-10", "power_of_ten"),
    ],
)
def test_a_mistake_that_changes_the_meaning_is_not_named_a_harmless_one(gold, extracted, kind):
    score = compile_schema(schema(a=TEXT)).score({"a": gold}, {"a": extracted})
    assert kind not in [mistake.kind for mistake in score.mistakes]


@pytest.mark.parametrize("pair", [("ACME 5", "**ACME 5**"), ("Room 10", "<b>Room 10</b>")])
def test_markup_around_a_text_with_a_number_is_markup(pair):
    score = compile_schema(schema(a=TEXT)).score({"a": pair[0]}, {"a": pair[1]})
    assert [mistake.kind for mistake in score.mistakes] == ["markup"]


def test_negative_numbers_are_rounded_as_positive_ones_are():
    for gold, extracted in ((-100.4, -100), (100.4, 100)):
        score = compile_schema(schema(a=NUMBER)).score({"a": gold}, {"a": extracted})
        assert [mistake.kind for mistake in score.mistakes] == ["rounded"]


@pytest.mark.parametrize(("page", "read"), [("7", 7), (7.0, 7), (7, 7), ("seven", None), (10**400, None)])
def test_a_page_may_be_written_as_a_text(page, read):
    output = {"a": {"value": "x", "citations": [{"page": page, "quote": "x"}]}}
    found = unwrap(output, compile_shape("wrapper"))
    (metadata,) = found.metadata.values()
    assert metadata.citations[0].page == read


def compile_shape(name):
    from pytest_extract.core.scorer import ScoreOptions

    return ScoreOptions(confidence=name).confidence


def test_a_field_named_as_a_citation_s_key_is_cited_alone():
    output = {"data": {"content": "abc", "total": 5}, "src": {"content": "abc q"}}
    found = unwrap(output, compile_shape({"values": "data", "citations": "src.{path}"}))
    assert [str(path) for path in found.metadata] == ["content"]


def test_a_confidence_of_a_misspelt_place_is_noted():
    found = unwrap({"total": 1}, None, ReportedMetadata({"totl": 0.9}, {"total": ["1"]}))
    assert any("'totl': the output has no such place; did you mean 'total'?" in note for note in found.notes)


def test_a_function_has_one_decorator():
    with pytest.raises(ConfigError, match="decorated already"):

        @extend.metric()
        @extend.measure()
        def both(gold, extracted):
            return 1.0


def test_count_takes_one_field_and_a_rule_counts_once():
    rows = {"type": "array", "items": schema(q=NUMBER, p=NUMBER)}
    with pytest.raises(SchemaError, match="count takes one field"):
        compile_schema(schema(rows=rows), rules=["count(rows[].q * rows[].p) == 1"])
    own = schema(a=NUMBER, b=NUMBER) | {"x-eval-rules": ["a == b"]}
    score = compile_schema(own, rules=["a == b", "a <= b"]).score({"a": 2, "b": 1}, {"a": 2, "b": 1})
    assert [rule.name for rule in score.rules] == ["a == b", "a <= b"]


def test_a_batch_that_gives_no_score_says_what_it_gave():
    @extend.batch()
    def some(pairs):
        return [2.0 for _ in pairs]

    own = schema(a={"type": "string", "x-eval-compare": "some"})
    score = compile_schema(own, extensions=Extensions.of(some)).score({"a": "x"}, {"a": "x"})
    assert "it gave 2.0, not a score from 0 to 1" in str(score.leaves[0].reason)
