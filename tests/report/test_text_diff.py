from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.report.diff import look_alike_text, value_difference
from pytest_extract.report.lines import first_difference, text_of

LONG = "The quick brown fox jumps over the lazy dog. " * 20


@pytest.mark.parametrize(
    ("gold", "extracted", "told"),
    [
        pytest.param("2024-03-05", "2024-05-03", "2024-0[3→5]-0[5→3]", id="two-digits"),
        pytest.param("2024-03-05", "05.03.2024", "", id="other-order"),
        pytest.param("12345", "12354", "123[45→54]", id="transposed"),
        pytest.param("invoices/winter", "invoices/midsummer2025", "invoices/[winter→midsummer2025]", id="letters-between"),
        pytest.param("The total is 5", "The total sum is 5,00", "The total [+sum ]is 5[+,00]", id="words"),
        pytest.param(LONG, LONG[:400] + "X" + LONG[401:], "… quick brown fox jumps over the lazy [d→X]og. The quick brown fox jumps over th…", id="one-letter"),
    ],
)  # fmt: skip
def test_marks(gold: str, extracted: str, told: str) -> None:
    assert text_of(value_difference(gold, extracted, 80)) == told


@pytest.mark.parametrize("width", [40, 52, 72])
def test_one_change_at_least_is_marked(width: int) -> None:
    gold = "See https://billing.example.com/customers/4711/invoices/winter, payable in thirty days from the receipt"
    spans = value_difference(gold, gold.replace("winter", "summer").replace("thirty", "sixty"), width)
    assert any(span.style == "mark" for span in spans)


def test_differences_far_apart_are_told_in_words() -> None:
    told = text_of(value_difference("word " * 30, "ward " + "word " * 28 + "ward ", 200))
    assert told.startswith("[word→ward] word")
    assert told.endswith("[word→ward] ")


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_first_difference_is_where_texts_part(common: str, one: str, other: str) -> None:
    gold, extracted = common + one, common + other
    at = first_difference(gold, extracted)
    assert gold[:at] == extracted[:at]
    assert at == min(len(gold), len(extracted)) or gold[at] != extracted[at]


@pytest.mark.parametrize(
    ("gold", "extracted", "named"),
    [
        pytest.param("a-b", "a\u2013b", "gold has U+002D HYPHEN-MINUS, extracted U+2013 EN DASH", id="dash"),
        pytest.param("a b", "a\xa0b", "gold has U+0020 SPACE, extracted U+00A0 NO-BREAK SPACE", id="space"),
        pytest.param("M\xfcller", "Mu\u0308ller", "gold has U+00FC LATIN SMALL LETTER U WITH DIAERESIS, extracted U+0075 U+0308", id="form"),
        pytest.param("o", "\u03bf", "gold has U+006F LATIN SMALL LETTER O, extracted U+03BF GREEK SMALL LETTER OMICRON", id="script"),
        pytest.param("a", "\xe4", "", id="plain-to-see"),
        pytest.param("GmbH", "Gmbh", "", id="ascii"),
        pytest.param("ab", "ab", "", id="equal"),
        pytest.param("ab", "\u6f22\u5b57\u6f22\u5b57", "", id="other-words"),
    ],
)  # fmt: skip
def test_look_alike(gold: str, extracted: str, named: str) -> None:
    assert look_alike_text(gold, extracted) == named
