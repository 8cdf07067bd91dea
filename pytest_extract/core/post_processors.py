"""The one table of post-processors: they rewrite a document's leaf results before any number is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_extract.core.extensions import PostSpec, Transformed
from pytest_extract.core.metrics.base import Param, any_list, boolean
from pytest_extract.core.results import COUNTED, SCORED, STRUCTURE, FieldResult, Status
from pytest_extract.core.values import MISSING, Json


def reclassify_nulls(
    results: Sequence[FieldResult], params: Mapping[str, Json], transformed: Transformed
) -> list[FieldResult]:
    """Count values that stand for "nothing" as not there (struct-extract-eval's post-processor of this name).

    `absent_values`: what stands for nothing (equal and of the same type); `both_absent_skip`: nothing on both sides
    is skipped, else a match. A result about the shape of a container holds no values to compare, so one that matches
    counts as null on both sides, as published; a wrong type stays wrong whatever null means.
    """
    blank, skip = params["absent_values"], bool(params["both_absent_skip"])

    def absent(value: Json) -> bool:
        return any(type(value) is type(one) and value == one for one in blank)

    def nothing(result: FieldResult) -> tuple[bool, bool]:
        """Whether gold, and the output, have nothing to compare here."""
        if result.status not in COUNTED:
            return False, False
        if result.metric == STRUCTURE and result.status in SCORED:
            agrees = result.status is Status.MATCH and absent(None)
            return agrees, agrees
        gold, extracted = transformed(result)
        if result.status in _ONE_SIDED:  # null counts as absent, and what the other side has may as well
            is_null = absent(None) and (result.gold is None or result.extracted is None)
            both = is_null and all(value is None or absent(value) for value in (gold, extracted))
            return both, both
        known = gold is not MISSING and extracted is not MISSING
        return known and absent(gold), known and absent(extracted)

    return [_reclassified(result, nothing(result), skip=skip) for result in results]


_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})


def _reclassified(result: FieldResult, nothing: tuple[bool, bool], *, skip: bool) -> FieldResult:
    match nothing:
        case (True, True):
            status, reason = Status.SKIPPED if skip else Status.MATCH, "nothing on either side"
        case (True, False):
            status, reason = Status.HALLUCINATION, "gold has nothing here"
        case (False, True):
            status, reason = Status.OMISSION, "extracted has nothing here"
        case _:
            return result
    passed = status is Status.MATCH
    return result._replace(status=status, score=float(passed), passed=passed, reason=reason)


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


POST_PROCESSORS: Final[Mapping[str, PostSpec]] = MappingProxyType(
    {
        "reclassify_nulls": PostSpec(
            name="reclassify_nulls",
            process=reclassify_nulls,
            params=(
                Param(name="absent_values", check=any_list, doc="values that stand for nothing", default=[None]),
                Param(name="both_absent_skip", check=boolean, doc="skip what neither side has", default=True),
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
