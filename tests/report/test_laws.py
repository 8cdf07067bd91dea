"""Whatever was extracted: the report never raises, never acts on a terminal, and stays in its window."""

from __future__ import annotations

import unicodedata

import pytest
from _pytest._io.wcwidth import wcswidth
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING, writable
from pytest_extract.report.diff import DiffOptions, score_lines, value_difference
from pytest_extract.report.lines import (
    Span,
    left_part,
    right_part,
    safe,
    shorten,
    show,
    text_of,
    text_width,
    wrap_spans,
)
from tests.strategies import any_json

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "rows": {"type": "array", "items": {"properties": {"x": {"type": "number"}, "y": {"type": "string"}}}},
    },
}
SCORER = compile_schema(SCHEMA)
rows = st.lists(st.fixed_dictionaries({}, optional={"x": any_json, "y": any_json}) | any_json, max_size=4)
documents = st.fixed_dictionaries({}, optional={"a": any_json, "rows": rows | any_json, "more": any_json}) | any_json


@given(documents, documents, st.integers(40, 200), st.integers(0, 2))
@example([None, {}], [None, {"\x7f": None}], 40, 0)
@example({}, "a text of more than 26 characters", 40, 0)
def test_any_two_documents_can_be_told_apart(gold: object, extracted: object, width: int, verbosity: int) -> None:
    score = SCORER.score(gold, extracted).record()
    for brief in (False, True):
        for each in score_lines(score, DiffOptions(verbosity=verbosity, width=width, brief=brief)):
            assert text_of(each).isprintable()
            assert verbosity >= 2 or text_width(text_of(each)) <= width


@pytest.mark.parametrize("width", [16, 40])
@given(gold=any_json, extracted=any_json)
def test_values_are_short_and_harmless(gold: object, extracted: object, width: int) -> None:
    one, other = writable(gold), writable(extracted)
    assert show(one, width).isprintable()
    assert len(show(one, width)) <= width + 40
    assert text_of(value_difference(one, other, width)).isprintable()


def test_nothing_differs_from_nothing() -> None:
    assert value_difference(MISSING, MISSING, 40) == ()


@pytest.mark.slow
@given(st.text())
def test_escaped_text_can_be_printed_in_any_encoding_of_unicode(text: str) -> None:
    shown = safe(text)
    assert shown.isprintable()
    assert shown.encode("utf-8", "surrogatepass").decode("utf-8") == shown


@given(st.text(), st.integers(5, 30))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert text_width(shorten(text, width)) <= width


@given(st.text())
@example("한글 日本語 e\u0301 \U0001f600 \u1112\u1161\u11ab")
def test_columns_are_counted_as_pytest_counts_them(text: str) -> None:
    printed = safe(text)
    assert text_width(printed) == wcswidth(printed)


@given(st.text(), st.integers(0, 30))
def test_parts_of_a_text_fit(text: str, width: int) -> None:
    for part in (left_part(text, width), right_part(text, width)):
        assert text_width(part) <= width
    assert text.startswith(left_part(text, width))
    assert text.endswith(right_part(text, width))


@given(st.lists(st.builds(Span, st.text().map(safe), st.sampled_from(["plain", "mark"]))), st.integers(24, 60))
def test_wrapped_text_fits_and_loses_nothing(spans: list[Span], width: int) -> None:
    lines = wrap_spans(spans, indent=4, width=width)
    assert all(text_width(text_of(each)) <= width for each in lines)
    whole = "".join(text_of(each)[4:] for each in lines)
    assert unicodedata.normalize("NFC", whole.replace(" ", "")) == unicodedata.normalize(
        "NFC", text_of(spans).replace(" ", "")
    )
