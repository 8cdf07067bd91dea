"""The cases that a case's `variants` make of it: the same case on an altered document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pytest_extract.cases.model import NOTHING, Case, Thresholds
from pytest_extract.core.case_result import Origin
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import MISSING, FieldPath, Json, copied, value_at
from pytest_extract.documents.altered import Alteration, AlteredDocument, alterations


def unsuited_fields(given: Any, gold: Json) -> Iterator[str]:
    """Yield the fields that `without` names and the gold has no single value for."""
    for each in alterations(given):
        if each.kind == "without":
            try:
                path = FieldPath.parse(each.how)
            except ValueError:
                path = FieldPath()
            value = value_at(gold, path) if path else MISSING
            if value is MISSING or value is None or isinstance(value, dict | list | bool):
                yield each.how


def altered_cases(case: Case, given: Any) -> Iterator[Case]:
    """Yield a case for each alteration, `acme[without-total]`; none of them is a sample.

    A case without a value passes if nothing else is put in its place: its other bounds, gates and rules are those of
    another document. Every other case is held to what the case itself is held to.
    """
    for each in alterations(given):
        own = replace(
            case,
            id=f"{case.id}[{each.name}]",
            document=AlteredDocument(case.document, each, case.gold),
            origin=Origin.SYNTHETIC,
            altered=each.name,
        )
        yield own if each.kind != "without" else _without(own, each)


def _without(case: Case, alteration: Alteration) -> Case:
    path = FieldPath.parse(alteration.how)
    gold = copied(case.gold)
    inside: Any = value_at(gold, path[:-1])
    inside[path[-1]] = None
    if isinstance(inside, dict) and not Validator(case.schema).is_valid(gold):
        del inside[path[-1]]
    limits = case.thresholds
    return replace(
        case,
        gold=gold,
        absent=MappingProxyType({**case.absent, str(path): "must"}),
        gates=GateConfig(schema=False, mode="off", rules=False),
        thresholds=Thresholds(
            measures={"json_parse": 1.0}, max_cost_usd=limits.max_cost_usd, max_latency_s=limits.max_latency_s
        ),
        known_failures=(),
        accept=NOTHING,
        auto_accept=None,
        uncompared=None,
        rules=None,
    )
