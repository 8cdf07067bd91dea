"""The one table of post-processors: they rewrite a document's leaf results before any number is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_extract.core.extensions import PostSpec, Transformed
from pytest_extract.core.metrics.base import Param
from pytest_extract.core.metrics.params import any_list, boolean
from pytest_extract.core.results import SCORED, STRUCTURE, FieldResult, Status
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

    found = []
    for result in results:
        if result.status in _ONE_SIDED and absent(None) and (result.gold is None or result.extracted is None):
            gold, extracted = transformed(result)  # null counts as absent, and what the other side has may as well
            nothing = gold is None or absent(gold), extracted is None or absent(extracted)
            nothing = nothing if all(nothing) else (False, False)
        elif result.status not in SCORED:
            nothing = False, False
        elif result.metric == STRUCTURE:
            agrees = result.status is Status.MATCH and absent(None)
            nothing = agrees, agrees
        else:
            gold, extracted = transformed(result)
            known = gold is not MISSING and extracted is not MISSING
            nothing = known and absent(gold), known and absent(extracted)
        found.append(_reclassified(result, nothing, skip=skip))
    return found


_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})


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
