"""What an array gives beside its rows: how they were paired, with its numbers, and the one result of its own."""

from __future__ import annotations

from typing import Final

from pytest_extract.core.align.pairing import Pairing
from pytest_extract.core.plan.nodes import Array
from pytest_extract.core.results import ArrayResult, FieldResult, Status
from pytest_extract.core.score.run import Path, Run
from pytest_extract.core.score.table import identity
from pytest_extract.core.values import Json, Missing, as_place

_new: Final = tuple.__new__


def conclude(
    run: Run,
    array: Array,
    lists: tuple[list[Json], list[Json]],
    pairing: Pairing,
    total: float,
    path: Path,
    at: Path | None,
) -> None:
    """Keep the pairing with its numbers, and the array's own result."""
    if run.depth:
        return
    height, width = len(lists[0]), len(lists[1])
    numbers = (total / width if width else 1.0, total / height if height else 1.0)
    f1 = 2 * total / (height + width) if height + width else 1.0
    run.arrays.append(_new(ArrayResult, (as_place(path), *pairing, *numbers, f1)))
    result = array.result
    if result is None or not array.field:
        return
    score = f1
    if result.number == "recall":
        # the judge's word is that a pair matches; other aligners only say that it fits best
        matched = float(len(pairing.pairs)) if array.align.mode == "judge" else total
        score = matched / max(1, height)
    status = Status.MATCH if score >= result.threshold else Status.MISMATCH
    array_result(run, array, status, score, lists, path, at, _summary(pairing, total) if score < 1.0 else None)


def conclude_equal(run: Run, array: Array, lists: tuple[list[Json], list[Json]], path: Path, at: Path | None) -> None:
    """Do the same for two lists that are equal."""
    if run.depth:
        return
    run.arrays.append(_new(ArrayResult, (as_place(path), identity(len(lists[0])), (), (), 1.0, 1.0, 1.0)))
    array_result(run, array, Status.MATCH, 1.0, lists, path, at, None)


def _summary(pairing: Pairing, total: float) -> str:
    paired, left = len(pairing.pairs), f"{len(pairing.missing)} missing, {len(pairing.extra)} invented"
    return f"{paired} rows paired (their scores add up to {total:.4g}), {left}"


def array_result(
    run: Run,
    array: Array,
    status: Status,
    score: float,
    values: tuple[Json | Missing, Json | Missing],
    path: Path,
    at: Path | None,
    reason: str | None,
) -> None:
    """Keep the array's field result, where the semantics give one and the array stands outside others."""
    result = array.result
    if result is None or not array.field:
        return
    kept = (
        as_place(path), array.pattern, result.metric, result.params, status, score, status is Status.MATCH,
        values[0], values[1], reason, result.weight, None if at is None else as_place(at),
    )  # fmt: skip
    run.fields.append(_new(FieldResult, kept))
