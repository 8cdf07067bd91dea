"""The metric of regular expressions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.parsed import reading_metric
from pytest_extract.core.regex.linear import UndecidedError, compile_linear
from pytest_extract.core.values import Json

LONGEST_TEXT: Final = 5000


def _make_regex(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    compiled = compile_linear(params["pattern"], ignore_case=bool(params["ignore_case"]))
    matches = compiled.search if params["search"] else compiled.fullmatch

    def read(value: Json) -> _Read:
        try:
            fits = isinstance(value, str) and len(value) <= LONGEST_TEXT and matches(value)
        except UndecidedError:
            fits = False
        return _Read(equality.text_key(value), fits)

    return reading_metric("regex", read, _agree, _explain(str(params["pattern"]), matches), params)


class _Read(NamedTuple):
    """A value by its text, and whether it matches the pattern."""

    key: Hashable
    fits: bool


def _agree(gold: _Read, extracted: _Read) -> float:
    return 1.0 if extracted.fits or gold.key == extracted.key else 0.0


def _explain(pattern: str, matches: Callable[[str], bool]) -> Callable[[Json, Json], str]:
    def explain(gold: Json, extracted: Json) -> str:
        del gold
        if not isinstance(extracted, str):
            return f"a string expected, got {equality.a_type(extracted)}"
        if len(extracted) > LONGEST_TEXT:
            return f"{len(extracted)} characters are too many for a pattern: at most {LONGEST_TEXT}"
        try:
            matches(extracted)
        except UndecidedError as problem:
            return str(problem)
        return f"does not match {pattern}"

    return explain


def _check_pattern(value: Json) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a regular expression"
    try:
        compile_linear(value)
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(value)
    except ValueError as problem:
        return str(problem)
    except FutureWarning as warning:
        return f"may be read otherwise by a later Python: {warning}; write [ and - as \\[ and \\-"
    return None


SPECS = (
    MetricSpec(
        name="regex",
        make=_make_regex,
        doc="The extracted string equals the gold or matches `pattern` as a whole, whatever the gold is. Python's "
        "syntax without back references, conditions on groups, atomic groups and possessive quantifiers; matched in "
        "linear time, so no value can make it hang.",
        params=(
            Param(name="pattern", check=_check_pattern, required=True, doc="regular expression"),
            Param(name="search", check=check.boolean, default=False, doc="whether a part that matches is enough"),
            Param(name="ignore_case", check=check.boolean, default=False, doc="whether case is ignored"),
        ),
        examples=(
            Example("INV-0001", "INV-0417", 1.0, {"pattern": r"INV-\d{4}"}),
            Example("INV-0001", "no. INV-0417", 0.0, {"pattern": r"INV-\d{4}"}),
            Example("INV-0001", "no. inv-0417", 1.0, {"pattern": r"INV-\d{4}", "search": True, "ignore_case": True}),
        ),
        symmetric=False,
    ),
)
