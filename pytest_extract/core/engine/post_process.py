"""Post-processing of leaf results, before numbers are made of them: nulls told apart anew, failed batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_extract.core.compile.nodes import FieldMetric, Leaf, Program
from pytest_extract.core.engine.context import SCORED, STRUCTURE
from pytest_extract.core.engine.leaf import transformed
from pytest_extract.core.extensions import PostSpec, Transformed
from pytest_extract.core.metrics.base import Param
from pytest_extract.core.results import FieldResult, Status
from pytest_extract.core.values import MISSING, Json, Missing

Sides = tuple[Json | Missing, Json | Missing]


def reclassify_nulls(
    results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed
) -> list[FieldResult]:
    """Count values that stand for "nothing" as not there (struct-extract-eval's post-processor of this name).

    `absent_values`: what stands for nothing (equal and of the same type); `both_absent_skip`: nothing on both sides
    is skipped, else a match. A result about the shape of a container holds no values to compare, so one that matches
    counts as null on both sides, as published; a wrong type stays wrong whatever null means.
    """
    blank = params["absent_values"]

    def absent(value: Json) -> bool:
        return any(type(value) is type(one) and value == one for one in blank)

    found = []
    for result in results:
        if result.status not in SCORED:
            found.append(result)
            continue
        if result.metric == STRUCTURE:
            agrees = result.status is Status.MATCH and absent(None)
            found.append(_reclassified(result, (agrees, agrees), skip=bool(params["both_absent_skip"])))
            continue
        sides = transformed(result)
        nothing = (False, False) if MISSING in map(_or_missing, sides) else (absent(sides[0]), absent(sides[1]))
        found.append(_reclassified(result, nothing, skip=bool(params["both_absent_skip"])))
    return found


def _or_missing(value: Json | Missing) -> Missing | None:
    return MISSING if value is MISSING else None


def _reclassified(result: FieldResult, nothing: tuple[bool, bool], *, skip: bool) -> FieldResult:
    match nothing:
        case (True, True) if skip:
            return result._replace(status=Status.SKIPPED, score=0.0, passed=False, reason="nothing on either side")
        case (True, True):
            return result._replace(status=Status.MATCH, score=1.0, passed=True, reason="nothing on either side")
        case (True, False):
            return result._replace(status=Status.HALLUCINATION, score=0.0, passed=False, reason="gold has nothing here")
        case (False, True):
            return result._replace(status=Status.OMISSION, score=0.0, passed=False, reason="extracted has nothing here")
        case _:
            return result


def propagate_batch_errors(
    results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed
) -> list[FieldResult]:
    """Make every field of a metric undecided where one is: a judge or batch that failed once is trusted in nothing."""
    del params, transformed
    broken = {result.metric for result in results if result.status is Status.JUDGE_ERROR}
    return [
        result._replace(status=Status.JUDGE_ERROR, score=0.0, passed=False, reason="another field of its batch failed")
        if result.metric in broken and result.status in SCORED
        else result
        for result in results
    ]


def _check_list(value: Json) -> str | None:
    return None if isinstance(value, list) else "must be a list of values"


def _check_flag(value: Json) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


POST_PROCESSORS: Final[Mapping[str, PostSpec]] = MappingProxyType(
    {
        "reclassify_nulls": PostSpec(
            name="reclassify_nulls",
            process=reclassify_nulls,
            params=(
                Param(name="absent_values", check=_check_list, doc="values that stand for nothing", default=[None]),
                Param(name="both_absent_skip", check=_check_flag, doc="skip what neither side has", default=True),
            ),
            doc="Values that stand for nothing count as not there.",
        ),
        "propagate_batch_errors": PostSpec(
            name="propagate_batch_errors",
            process=propagate_batch_errors,
            doc="One undecided field of a metric makes all of its fields undecided.",
        ),
    }
)


def processed(
    spec: PostSpec, params: Mapping[str, Json], results: Sequence[FieldResult], transformed: Transformed
) -> list[FieldResult]:
    """Run one post-processor; one that raises, or gives other than a result for each, breaks all of the fields."""
    try:
        found = list(spec.process(results, params, transformed))
        problem = None if len(found) == len(results) else f"it gave {len(found)} results for {len(results)}"
        found = [_checked(result) for result in found]
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        problem, found = f"{type(error).__name__}: {error}", []
    if problem is None:
        return found
    reason = f"the post-processor {spec.name!r} broke: {problem}"
    return [
        result
        if result.status is Status.SKIPPED
        else result._replace(status=Status.JUDGE_ERROR, score=0.0, passed=False, reason=reason)
        for result in results
    ]


def _checked(result: FieldResult) -> FieldResult:
    if not isinstance(result, FieldResult):
        raise TypeError(f"{result!r} is no FieldResult")
    if isinstance(result.score, bool) or not 0.0 <= result.score <= 1.0:
        raise ValueError(f"the score of {result.path} is {result.score!r}, not a number from 0 to 1")
    return result._replace(status=Status(result.status), passed=bool(result.passed))


def post_process(
    program: Program, fields: tuple[FieldResult, ...], leaves: tuple[FieldResult, ...]
) -> tuple[tuple[FieldResult, ...], tuple[FieldResult, ...]]:
    """Run the plan's post-processors over leaf results; field results that are leaves follow."""
    changed: Sequence[FieldResult] = leaves
    for process in program.posts:
        changed = list(process(changed, _transformed_by(program)))
    news = {id(old): new for old, new in zip(leaves, changed, strict=True)}
    return tuple(news.get(id(field), field) for field in fields), tuple(changed)


def _transformed_by(program: Program) -> Callable[[FieldResult], Sides]:
    def find(result: FieldResult) -> Sides:
        if result.metric == STRUCTURE:
            return MISSING, MISSING
        plan = program.patterns.get(result.pattern)
        check = _check_of(plan, result.metric) if isinstance(plan, Leaf) else None
        if check is None or check.transform is None:
            return result.gold, result.extracted
        return transformed(check, result.gold, result.extracted)[0]

    return find


def _check_of(leaf: Leaf, metric: str) -> FieldMetric | None:
    return next((check for check in leaf.checks if check.metric.name == metric), None)
