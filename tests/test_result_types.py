"""Every field of every type that a results file holds survives write and read; fields are found by reflection.

A new field needs no entry here: its values are made from its annotation. It fails until the results file holds it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Any

import pytest

from pytest_extract.core import case_result, results
from pytest_extract.core.case_result import Attempt, CaseResult
from pytest_extract.core.measures.document import DocumentScore
from pytest_extract.core.results import Failure, FieldResult, Gates
from pytest_extract.core.score.document import Scored
from pytest_extract.core.score.result import Score
from pytest_extract.core.score.run import ArrayPairing
from pytest_extract.core.semantics import SEMANTICS
from pytest_extract.core.values import MISSING, FieldPath, Missing
from pytest_extract.results_file import dump_result, load_result

# --- values from annotations


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
    return kind(**{name: values_of(hint, f"{salt} {name}")[0] for name, hint in fields_of(kind).items()})


def changed(instance: Any) -> list[tuple[str, Any]]:
    """Return (field, instance with another value there) for every other value of every field."""
    found = []
    for name, hint in fields_of(type(instance)).items():
        salt = f"value {name}"
        for value in values_of(hint, salt)[1:]:
            arguments = {each: getattr(instance, each) for each in fields_of(type(instance))}
            found.append((name, type(instance)(**{**arguments, name: value})))
    return found


def test_values_differ_from_field_to_field_and_from_each_other():
    one = made(Attempt)
    texts = [getattr(one, name) for name, hint in fields_of(Attempt).items() if hint == str | None]
    assert len(set(texts)) == len(texts) > 1
    assert len({repr(value) for value in values_of(float | None, "a")}) == 3


# --- what has a codec both ways: CaseResult and what it holds


def written(result: CaseResult) -> CaseResult:
    return load_result(dump_result(result))


def held_by(kind: Any) -> set[type]:
    """Return a type's own and all dataclasses that its fields hold."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return {kind}.union(*(held_by(hint) for hint in fields_of(kind).values()))
    return set().union(*(held_by(part) for part in typing.get_args(kind)))


HELD = sorted(held_by(CaseResult), key=lambda kind: kind.__name__)


def inside(instance: Any) -> CaseResult:
    """Return a result that holds an instance wherever one of its type can stand."""
    if isinstance(instance, CaseResult):
        return instance
    result, kind = made(CaseResult), type(instance)
    attempt = result.attempts[0]
    return dataclasses.replace(
        put(result, kind, instance),
        attempts=(instance if kind is Attempt else put(attempt, kind, instance), *result.attempts[1:]),
    )


def put(owner: Any, kind: type, instance: Any) -> Any:
    hints = fields_of(type(owner))
    single = {name: instance for name, hint in hints.items() if hint is kind or kind in typing.get_args(hint)}
    many = {name: (instance,) for name in single if typing.get_origin(hints[name]) is tuple}
    return dataclasses.replace(owner, **{**single, **many})


def test_the_types_of_a_result_are_all_looked_at():
    module = {kind for kind in vars(case_result).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)}
    assert {kind for kind in module if kind.__module__ == case_result.__name__} == set(HELD)


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_a_whole_result_survives(kind):
    result = inside(made(kind))
    assert written(result) == result


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_every_field_survives_by_itself(kind):
    seen = set()
    for name, other in changed(made(kind)):
        result = inside(other)
        assert written(result) == result, f"{kind.__name__}.{name} = {getattr(other, name)!r}"
        assert dump_result(result) != dump_result(inside(made(kind))), f"{kind.__name__}.{name} is not written"
        seen.add(name)
    assert seen == set(fields_of(kind))


# --- the score of an attempt: every field of what it is made of is seen in what is read back


class Given(DocumentScore):
    """Gates, failure and measures as a test wants them."""

    def __init__(self, gates: Gates, failure: Failure | None, measures: dict[str, float]) -> None:
        self.gates, self.failure, self.measures = gates, failure, measures


def score_record(
    *, fields=(), leaves=(), arrays=(), gates=None, failure=None, unread=None, measures=None, **more: Any
) -> Any:
    """Return the score of a result that was written and read."""
    document = Given(gates or named(made(Gates)), failure, measures or {})
    scored = Scored(tuple(fields), tuple(leaves), tuple(arrays), {}, more.pop("vacuous", 0))
    semantics = SEMANTICS[more.pop("semantics", "ours")]
    score = Score(scored, lambda: document, semantics, failure=unread, questions_asked=more.pop("questions_asked", 0))
    assert not more
    attempt = dataclasses.replace(made(Attempt), score=score.to_dict())
    return written(dataclasses.replace(made(CaseResult), attempts=(attempt,))).attempts[0].score


def named(gates: Gates) -> Gates:
    """Return gates that bear the names of their places, as all do."""
    return Gates(**{name: dataclasses.replace(getattr(gates, name), name=name) for name in fields_of(Gates)})


def with_gate(gate: results.GateResult) -> Gates:
    return dataclasses.replace(named(made(Gates)), **{gate.name: gate})


WAYS = {
    "fields": (FieldResult, lambda one: score_record(fields=[one])["fields"]),
    "leaves": (FieldResult, lambda one: score_record(leaves=[one])["leaves"]),
    "arrays": (ArrayPairing, lambda one: score_record(arrays=[one])["arrays"]),
    "failure": (Failure, lambda one: score_record(failure=one)["failure"]),
    "unread": (Failure, lambda one: score_record(unread=one)["failure"]),
    "gates": (Gates, lambda one: score_record(gates=named(one))["gates"]),
    "a gate": (results.GateResult, lambda one: score_record(gates=with_gate(one))["gates"]),
}


@pytest.mark.parametrize(("kind", "record"), WAYS.values(), ids=WAYS.keys())
def test_every_field_of_a_score_s_parts_reaches_the_results_file(kind, record):
    base = record(made(kind))
    others = changed(made(kind))
    assert {name for name, _ in others} == set(fields_of(kind))
    for name, other in others:
        assert record(other) != base, (
            f"{kind.__name__}.{name} = {getattr(other, name)!r} is not told from the other value"
        )


def test_a_missing_value_is_not_null():
    one = made(FieldResult)
    for side in ("gold", "extracted"):
        records = [score_record(leaves=[one._replace(**{side: value})])["leaves"] for value in (None, MISSING)]
        assert records[0] != records[1]


DERIVED = {
    "unread": "told by `failure`, which is the same where there was no output",
    "ungated": "worked out from fields and leaves",
}
"""What a score says beside what it holds."""
PARTS: dict[str, list[Any]] = {
    "fields": [(), (made(FieldResult),)],
    "leaves": [(), (made(FieldResult),)],
    "arrays": [(), (made(ArrayPairing),)],
    "vacuous": [0, 3],
    "semantics": ["ours", "extract-bench"],
    "questions_asked": [0, 5],
    "gates": [named(made(Gates)), named(made(Gates, "other"))],
    "failure": [None, made(Failure)],
    "measures": [{"perfect": 0.25}, {"perfect": 0.75}],
}


def test_every_part_of_a_score_is_looked_at():
    score = Score(Scored((), (), (), {}, 0), lambda: Given(made(Gates), None, {}), SEMANTICS["ours"])
    computed = {name for name, each in vars(Score).items() if isinstance(each, property | cached_property)}
    public = {name for name in {*vars(score), *computed} if not name.startswith("_")}
    assert public == {*PARTS, *DERIVED}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_score_reaches_the_results_file(part):
    one, other = (score_record(**{part: value}) for value in PARTS[part])
    assert one != other
