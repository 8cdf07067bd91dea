"""The results file: every field of every type survives it, no secret does, and what is damaged is told."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property, partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
from pytest_extract.core.result_json import to_json
from pytest_extract.core.results import Failure, FailureKind, GateResult, Gates, ScoreRecord
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, Missing
from pytest_extract.errors import StoreError
from pytest_extract.results import (
    ResultsFile,
    dump_result,
    load_result,
    read_results,
    safe_form,
    table_of,
    write_results,
)
from tests.records import field_result, results_of, score_record
from tests.redact.corpus import LEGAL, SECRETS, made
from tests.regression.make import result
from tests.strategies import json_values

# --- every field of every type, found by reflection: a new one needs no entry here

words = st.text(st.characters(codec="utf-8"), max_size=3)
paths = st.builds(FieldPath, st.lists(words | st.integers(0, 5), min_size=1, max_size=3))
PLAIN = {
    str: words,
    int: st.integers(0, 99),
    float: st.floats(allow_nan=False, allow_infinity=False),
    typing.Any: json_values,
    FieldPath: paths,
    Missing: st.just(MISSING),
}


@cache
def values(hint):
    """Return a strategy for values of an annotation: of all fields of a record, not only of those without a default."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if hint is Gates:  # each bears the name of its place
        gate = values(GateResult)
        return st.builds(Gates, **{name: gate.map(partial(replace, name=name)) for name in fields(Gates)})
    if fields(hint):
        return st.builds(hint, **{name: values(each) for name, each in fields(hint).items()})
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    if origin is Mapping:
        return st.dictionaries(words, values(arguments[1]), max_size=2)
    return st.from_type(hint)


def fields(kind):
    """Return the fields of a dataclass or NamedTuple with their annotations; none of another type."""
    if not dataclasses.is_dataclass(kind) and not hasattr(kind, "_fields"):
        return {}
    names = getattr(kind, "_fields", None) or [each.name for each in dataclasses.fields(kind)]
    hints = typing.get_type_hints(kind)
    return {name: hints[name] for name in names}


def as_line(result):
    line = dump_result(result)
    assert line.isascii()
    found = json.loads(line)
    assert line == json.dumps(found, separators=(",", ":"))
    scores = [attempt.score for attempt in result.attempts]
    assert [attempt.get("score") for attempt in found["attempts"]] == [score and to_json(score) for score in scores]
    assert load_result(json.dumps(found)) == load_result(line)
    return load_result(line)


def as_parquet(result):
    pytest.importorskip("pyarrow")
    (found,) = results_of(table_of([result]))
    return found


@pytest.mark.parametrize("written", [as_line, as_parquet])
@given(result=values(CaseResult))
def test_every_field_survives(written, result):
    assert written(result) == result


DERIVED = {
    "unread": "`failure` is the same where there was no output",
    "ungated": "worked out from fields and leaves",
    "empty_passes": "worked out from fields",
    "extracted": "read from the output, which the attempt holds",
    "notes": "the attempt holds them",
}
"""What a score says beside what its record holds."""


def test_a_record_holds_every_part_of_a_score():
    score = compile_schema({"type": "string"}).score("a", "b")
    computed = {name for name, each in vars(type(score)).items() if isinstance(each, property | cached_property)}
    parts = {name for name in {*vars(score), *computed} if not name.startswith("_")} - {*DERIVED}
    assert {name.removesuffix("_asked") for name in parts} == set(fields(ScoreRecord))
    for name in parts:
        assert getattr(score.record(), name.removesuffix("_asked")) == getattr(score, name)


# --- lines and files


def with_output(output):
    attempt = Attempt(index=0, outcome=Outcome.PASSED, output=output)
    return CaseResult(nodeid="n", case_id="c", file="f", variant=Variant(), outcome=Outcome.PASSED, attempts=(attempt,))


def with_score(score, outcome=Outcome.FAILED, **keys):
    attempt = Attempt(index=0, outcome=outcome, score=score, **keys)
    return replace(with_output(None), outcome=outcome, attempts=(attempt,))


RESULT = result("case-0", {"n": True, "m": (1, 2), "rows[0].p": True, "rows[1].p": (MISSING, 3)}, tags={"kind": "a"})
LINE = dump_result(RESULT)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[1]", "not a result of format 1"),
        ('{"format": 99}', "found 99"),
        ('{"format": 1}', "not a whole result: .*missing.*'case_id'"),
        (LINE.replace("status", "statuz", 1), "not a whole result"),
        (LINE[:-9], "not JSON"),
        pytest.param("[" * 100_000, "not JSON", id="deep"),
    ],
)
def test_a_bad_line_is_a_store_error(line, message):
    with pytest.raises(StoreError, match=message):
        load_result(line)


@pytest.mark.parametrize("value", [-0.0, 1e300, 10**30, 'ü\n"\ud800', MISSING, {"leaves": [1], "arrays": []}], ids=repr)
def test_odd_values_and_keys_of_our_own_in_data_survive(value):
    made = with_score(score_record(field_result('["odd.key"]', value, value)), output={"fields": [1], "leaves": [1]})
    assert as_line(made) == made
    assert repr(as_line(made).attempts[0].score.leaves[0].gold) == repr(value)


def test_file_round_trip_and_the_torn_last_line_of_a_killed_run(tmp_path):
    path = tmp_path / "new" / "r.jsonl"
    write_results(path, [RESULT, with_output(1)])
    assert read_results(path) == ResultsFile(results=(RESULT, with_output(1)))
    assert [item.name for item in path.parent.iterdir()] == ["r.jsonl"]
    path.write_text(f"{LINE}\n{LINE[:50]}", encoding="utf-8")
    assert read_results(path) == ResultsFile(results=(RESULT,), torn=True)


def test_what_cannot_be_read_or_written_is_a_store_error(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(f"\nnonsense\n{LINE}\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"r\.jsonl:2: not JSON"):
        read_results(path)
    with pytest.raises(StoreError, match="cannot be read"):
        read_results(tmp_path / "none.jsonl")
    with pytest.raises(StoreError, match="cannot be written"):
        write_results(path / "r.jsonl", [RESULT])


# --- secrets

KEY = SECRETS["openai, project"]


def leaking(output):
    failure = Failure(kind=FailureKind.REFUSAL, message=f'sent {{\\"api_key\\": \\"{made("{a40}")}\\"}}')
    score = score_record(field_result(str(FieldPath(("a", KEY))), None, f"key {KEY}"), failure=failure)
    found = with_score(score, Outcome.ERROR, output=output, error=f"401 for {KEY}")
    return replace(found, why=f"401: x-api-key={made('{a40}')}")


@pytest.mark.parametrize("output", [{"note": f"key {KEY}"}, json.dumps({"note": f"\n{KEY}"})], ids=["value", "text"])
def test_an_output_with_a_secret_is_left_out_and_what_is_shown_of_it_is_hidden(output):
    line, _ = safe_form(leaking(output))
    assert KEY not in line
    assert made("{a40}") not in line
    (attempt,) = load_result(line).attempts
    assert attempt.output is None
    assert attempt.withheld.startswith("the output holds a secret (API key) at ")
    assert attempt.score.leaves[0].extracted == "key [redacted: API key]"
    assert "[redacted: API key]" in str(attempt.score.leaves[0].path)
    assert attempt.notes[-1] == "hidden in this result: API key"
    assert dump_result(load_result(line)) == line
    assert safe_form(load_result(line))[0] == line


def test_a_secret_of_the_users_own_files_stays_where_data_is():
    line, _ = safe_form(leaking({"note": KEY}), lambda secret: secret.text == KEY)
    (attempt,) = load_result(line).attempts
    assert (attempt.output, attempt.withheld) == ({"note": KEY}, None)
    assert attempt.score.leaves[0].extracted == f"key {KEY}"
    assert attempt.error == "401 for [redacted: API key]"


def test_data_and_the_ids_of_a_result_stay():
    named = replace(leaking(KEY), nodeid=f"a.extract.yaml::{KEY}", digests={"document": KEY})
    assert load_result(safe_form(named)[0]).nodeid == named.nodeid
    data = with_output({"values": LEGAL, "text": json.dumps(LEGAL), **{f"v{n}": each for n, each in enumerate(LEGAL)}})
    assert safe_form(data)[0] == dump_result(data)
