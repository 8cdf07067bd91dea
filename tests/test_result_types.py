"""Every field of every type that a results file holds survives write and read; fields are found by reflection.

A new field needs no entry here: its values are made from its annotation. It fails until the results file holds it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache, cached_property
from typing import Any

import pytest

from pytest_extract.core import case_result
from pytest_extract.core.case_result import Attempt, CaseResult
from pytest_extract.core.results import ArrayResult, Failure, FieldResult, GateResult, Gates, ScoreRecord
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, FieldPath, Missing
from pytest_extract.results import dump_result, load_result, table_of
from tests.records import results_of

# --- values from annotations


@cache
def fields_of(kind: type) -> dict[str, Any]:
    """Return the fields of a dataclass or NamedTuple, with their annotations."""
    hints = typing.get_type_hints(kind)
    names = kind._fields if hasattr(kind, "_fields") else [each.name for each in dataclasses.fields(kind)]
    return {name: hints[name] for name in names}


def values_of(hint: Any, salt: str) -> list[Any]:
    """Return different values that an annotation admits, None last where it does; texts and numbers carry `salt`."""
    number = sum(salt.encode()) % 89
    plain = {
        str: [f"{salt} one", f"{salt} two"],
        int: [number + 2, number + 3],
        float: [0.25 + number, 0.5 + number],
        bool: [True, False],
        Any: [{salt: [1, None]}, f"{salt} text", 0.5, True, None],
        FieldPath: [FieldPath((salt, 1)), FieldPath((salt, 2, "a.b"))],
        Missing: [MISSING],
        types.NoneType: [None],
    }
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in plain:
        return plain[hint]
    if origin in (typing.Union, types.UnionType):
        kinds = sorted(arguments, key=lambda kind: kind is types.NoneType)
        return [value for kind in kinds for value in values_of(kind, salt)]
    if origin is typing.Literal:
        return [*arguments]
    if origin is tuple and arguments[-1] is Ellipsis:
        first, second, *_ = values_of(arguments[0], salt)
        return [(first, second), (second,), ()]
    if origin is tuple:
        ways = [values_of(argument, f"{salt}{place}") for place, argument in enumerate(arguments)]
        return [tuple(way[number] for way in ways) for number in (0, 1)]
    if origin is Mapping:
        return [{salt: value} for value in values_of(arguments[1], salt)] + [{}]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [*hint]
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")):
        return [made(hint, salt), made(hint, f"{salt} other")]
    raise NotImplementedError(f"values of {hint!r}: teach `values_of`")


def made(kind: type, salt: str = "value") -> Any:
    """Return an instance in which every field has a value of its own."""
    one = kind(**{name: values_of(hint, f"{salt} {name}")[0] for name, hint in fields_of(kind).items()})
    return named(one) if isinstance(one, Gates) else one


def changed(instance: Any) -> list[tuple[str, Any]]:
    """Return (field, instance with another value there) for every other value of every field."""
    found = []
    for name, hint in fields_of(type(instance)).items():
        salt = f"value {name}"
        for value in values_of(hint, salt)[1:]:
            arguments = {each: getattr(instance, each) for each in fields_of(type(instance))}
            other = type(instance)(**{**arguments, name: value})
            found.append((name, named(other) if isinstance(other, Gates) else other))
    return found


def test_values_differ_from_field_to_field_and_from_each_other():
    one = made(Attempt)
    texts = [getattr(one, name) for name, hint in fields_of(Attempt).items() if hint == str | None]
    assert len(set(texts)) == len(texts) > 1
    assert len({repr(value) for value in values_of(float | None, "a")}) == 3


# --- what has a codec both ways: CaseResult and what it holds


def as_line(result: CaseResult) -> CaseResult:
    return load_result(dump_result(result))


def as_parquet(result: CaseResult) -> CaseResult:
    pytest.importorskip("pyarrow")
    (found,) = results_of(table_of([result]))
    return found


both_formats = pytest.mark.parametrize("written", [as_line, as_parquet])


@cache
def held_by(kind: Any) -> set[type]:
    """Return a type's own and all dataclasses and named tuples that its fields hold."""
    if is_record(kind):
        return {kind}.union(*(held_by(hint) for hint in fields_of(kind).values()))
    return set().union(*(held_by(part) for part in typing.get_args(kind)))


def is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


HELD = sorted(held_by(CaseResult), key=lambda kind: kind.__name__)


def inside(instance: Any) -> CaseResult:
    """Return a result that holds an instance wherever one of its type can stand."""
    return holding(CaseResult, instance)


def holding(kind: type, instance: Any, salt: str = "value") -> Any:
    """Return an instance of a type in which another stands, in all places that admit its type."""
    if kind is type(instance):
        return instance
    values = {name: _held(hint, instance, f"{salt} {name}") for name, hint in fields_of(kind).items()}
    return named(Gates(**values)) if kind is Gates else kind(**values)


def _held(hint: Any, instance: Any, salt: str) -> Any:
    if type(instance) in held_by(hint):
        for kind in (hint, *typing.get_args(hint)):
            if is_record(kind) and type(instance) in held_by(kind):
                found = holding(kind, instance, salt)
                return (found,) if typing.get_origin(hint) is tuple else found
    return values_of(hint, salt)[0]


def named(gates: Gates) -> Gates:
    """Return gates that bear the names of their places, as all do."""
    return Gates(**{name: dataclasses.replace(getattr(gates, name), name=name) for name in fields_of(Gates)})


def test_the_types_of_a_result_are_all_looked_at():
    module = {kind for kind in vars(case_result).values() if is_record(kind)}
    here = {kind for kind in module if kind.__module__ == case_result.__name__}
    assert here - {case_result.Spending, case_result.AcceptedCounts} <= set(HELD), "these are sums of them"
    assert {FieldResult, ScoreRecord, Failure, Gates, GateResult, ArrayResult} <= set(HELD)


@both_formats
@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_a_whole_result_survives(kind, written):
    result = inside(made(kind))
    assert written(result) == result


@both_formats
@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_every_field_survives_by_itself(kind, written):
    seen = set()
    unchanged = dump_result(inside(made(kind)))
    for name, other in changed(made(kind)):
        if (kind, name) == (GateResult, "name"):  # the place says which gate it is
            seen.add(name)
            continue
        result = inside(other)
        assert written(result) == result, f"{kind.__name__}.{name} = {getattr(other, name)!r}"
        assert dump_result(result) != unchanged, f"{kind.__name__}.{name} is not written"
        seen.add(name)
    assert seen == set(fields_of(kind))


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
    record = score.record()
    assert {name.removesuffix("_asked") for name in parts} == set(fields_of(ScoreRecord))
    for name in parts:
        assert getattr(record, name.removesuffix("_asked")) == getattr(score, name)


def test_a_missing_value_is_not_null():
    lines = {
        dump_result(inside(made(FieldResult)._replace(gold=gold, extracted=extracted)))
        for gold in (None, MISSING)
        for extracted in (None, MISSING)
    }
    assert len(lines) == 4
