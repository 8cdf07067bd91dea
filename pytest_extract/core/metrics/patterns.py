"""The metric of regular expressions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics import params as check
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, SemanticsName
from pytest_extract.core.metrics.parsed import reading_metric
from pytest_extract.core.regex import compile_regex
from pytest_extract.core.values import Json

LONGEST_TEXT: Final = 5000


def _make_regex(params: Mapping[str, Json], semantics: SemanticsName) -> BoundMetric:
    del semantics
    pattern = f"(?i:{params['pattern']})" if params["ignore_case"] else f"(?:{params['pattern']})"
    compiled = compile_regex(pattern if params["search"] else f"^{pattern}$")

    def read(value: Json) -> _Read:
        fits = isinstance(value, str) and len(value) <= LONGEST_TEXT and compiled.search(value)
        return _Read(equality.text_key(value), fits)

    def explain(gold: Json, extracted: Json) -> str:
        del gold
        if not isinstance(extracted, str):
            return f"a string expected, got {equality.a_type(extracted)}"
        if len(extracted) > LONGEST_TEXT:
            return f"{len(extracted)} characters are too many for a pattern: at most {LONGEST_TEXT}"
        return f"does not match {params['pattern']}"

    return reading_metric("regex", read, _agree, explain, params)


class _Read(NamedTuple):
    """A value by its text, and whether it matches the pattern."""

    key: Hashable
    fits: bool


def _agree(gold: _Read, extracted: _Read) -> float:
    return 1.0 if extracted.fits or gold.key == extracted.key else 0.0


def _check_pattern(value: Json) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a regular expression"
    try:
        compile_regex(value)
    except ValueError as problem:
        return str(problem)
    return None


SPECS = (
    MetricSpec(
        name="regex",
        make=_make_regex,
        doc="The extracted string equals the gold or matches `pattern` as a whole, whatever the gold is. The syntax is "
        "that of JSON Schema's `pattern` (JavaScript's, with the flag `u`); steps are bounded, so no value can make it "
        "hang.",
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
