"""Where a value stands in a document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import Evidence, MatchLevel, TextLocation, find_evidence
from tests.cpu_time import cpu_seconds
from tests.shared_data import shared

EXACT, FOLDED, FUZZY = MatchLevel.EXACT, MatchLevel.FOLDED, MatchLevel.FUZZY


def quotes(text, value):
    evidence = find_evidence(Document(text=text), value)
    return None if evidence is None else [(each.quote, each.level) for each in evidence.locations]


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        pytest.param("Invoice of ACME GmbH", "ACME GmbH", [("ACME GmbH", EXACT)], id="exact"),
        pytest.param("ACME \n GmbH", "ACME GmbH", [("ACME \n GmbH", EXACT)], id="white-space"),
        pytest.param("Acme gmbh", "ACME GmbH", [("Acme gmbh", FOLDED)], id="case"),
        pytest.param("2019–2024", "2019-2024", [("2019–2024", FOLDED)], id="dash"),
        pytest.param("O’Neill “Sons”", 'O\'Neill "Sons"', [("O’Neill “Sons”", FOLDED)], id="quotes"),
        pytest.param("the ﬁnal oﬀer", "final offer", [("ﬁnal oﬀer", FOLDED)], id="ligatures"),
        pytest.param("cafe\u0301 au lait", "café au lait", [("cafe\u0301 au lait", FOLDED)], id="combining-marks"),
        pytest.param("soft\u00adware", "software", [("soft\u00adware", FOLDED)], id="soft-hyphen"),
        pytest.param(
            "an inter-\nnational firm", "international", [("inter-\nnational", FOLDED)], id="hyphen-of-a-line"
        ),
        pytest.param("a well-\nknown firm", "well-known", [("well-\nknown", FOLDED)], id="hyphen-of-the-word"),
        pytest.param("AT & T, Incorporated", "AT&T Incorporated", [("AT & T, Incorporated", FOLDED)], id="punctuation"),
        pytest.param("+1 (555) 123-4567", "555.123.4567", [("555) 123-4567", FOLDED)], id="telephone"),
        pytest.param("fooACME bar", "ACME", [], id="inside-a-word"),
        pytest.param("Jane Doe1 and", "Jane Doe", [("Jane Doe", EXACT)], id="footnote"),
        pytest.param("合同金额为五万元整。", "五万元", [("五万元", EXACT)], id="no-spaces-between-words"),
        pytest.param("17 and 117 and 17.5 and 17,000", 17, [("17", EXACT)], id="number-inside-a-number"),
        pytest.param("Total 1,234.50 EUR", 1234.5, [("1,234.50", FOLDED)], id="thousands"),
        pytest.param("Summe 1.234,50 €", 1234.5, [("1.234,50", FOLDED)], id="comma"),
        pytest.param("total 1 234,50", 1234.5, [("1 234,50", FOLDED)], id="space"),
        pytest.param("12'345.60 Fr.", 12345.6, [("12'345.60", FOLDED)], id="apostrophe"),
        pytest.param("₹ 12,34,567", 1234567, [("12,34,567", FOLDED)], id="indian"),
        pytest.param("loss of (1,250)", -1250, [("1,250", FOLDED)], id="sign"),
        pytest.param("grew by 5.3 %", 0.053, [("5.3 %", FOLDED)], id="percent"),
        pytest.param("$1.2 million", 1_200_000, [("1.2 million", FOLDED)], id="scale-word"),
        pytest.param("(in thousands)\nSales 4,285", 4_285_000, [("4,285", FOLDED)], id="unit-of-a-table"),
        pytest.param("Sales 4,285", 4_285_000, [], id="no-unit-of-a-table"),
        pytest.param("as of 31.12.2024", 2024, [("2024", EXACT)], id="year-of-a-date"),
        pytest.param("1.234", 1.234, [("1.234", EXACT)], id="decimals"),
        pytest.param("is 3.0 or 3", 3.0, [("3.0", FOLDED), ("3", EXACT)], id="float"),
        pytest.param("5e-3 is 0.005", 0.005, [("0.005", EXACT)], id="small"),
        pytest.param("Total: $1,234.50", "1234.50", [("1,234.50", FOLDED)], id="number-as-text"),
        pytest.param("Total: 1,234.50 $", "USD 1234.5", [("1,234.50", FOLDED)], id="amount"),
        pytest.param("on March 15th, 2024", "2024-03-15", [("March 15th, 2024", FOLDED)], id="date-in-words"),
        pytest.param("am 15. März 2024", "2024-03-15", [("15. März 2024", FOLDED)], id="date-in-german"),
        pytest.param(
            "15/03/24 and 03/15/2024", "2024-03-15", [("15/03/24", FOLDED), ("03/15/2024", FOLDED)], id="orders"
        ),
        pytest.param("2024-03-15", "15 March 2024", [("2024-03-15", FOLDED)], id="date-in-words-to-iso"),
        pytest.param("2024年3月15日", "2024-03-15", [("2024年3月15日", FOLDED)], id="date-in-chinese"),
        pytest.param("in March 2024", "2024-03", [("March 2024", FOLDED)], id="month"),
        pytest.param("15.03.2024", "2024-03-15T10:00:00Z", [("15.03.2024", FOLDED)], id="moment"),
        pytest.param("15.03.2024", "2024-03-16", [], id="another-day"),
        pytest.param("a rate of .5 (.50)", 0.5, [(".5", FOLDED), (".50", FOLDED)], id="no-leading-zero"),
        pytest.param("a rate of .5", 5, [], id="inside-a-fraction"),
        pytest.param("a,5;.1.2", 0.5, [], id="separators-of-a-list"),
        pytest.param("合計 １，２３４ 円", 1234, [("１，２３４", FOLDED)], id="full-width-digits"),
        pytest.param("المجموع ١٢٣٤٫٥", 1234.5, [("١٢٣٤٫٥", FOLDED)], id="arabic-digits"),
        pytest.param("0 items", 1e-13, [], id="tiny"),
        pytest.param("by 15-Mar-24 or 15MAR24", "2024-03-15", [("15-Mar-24", FOLDED), ("15MAR24", FOLDED)], id="short"),
        pytest.param(
            "Mar-15-2024, 15MAR2024", "2024-03-15", [("Mar-15-2024", FOLDED), ("15MAR2024", FOLDED)], id="tight"
        ),
        pytest.param("am 15. 3. 2024", "2024-03-15", [("15. 3. 2024", FOLDED)], id="date-with-spaces"),
        pytest.param("12 May 10:30, 12 May 10 am", "2010-05-12", [], id="hour-after-a-date"),
        pytest.param("from 15 Mar 24 Apr 2024", "2024-04-24", [("24 Apr 2024", FOLDED)], id="date-after-a-date"),
        pytest.param("Total 123,456", "1,234.56", [], id="point-elsewhere"),
        pytest.param("Total 5000.00 EUR", "50.0000", [], id="zeros-elsewhere"),
        pytest.param("Total 1234 56", "1234.56", [], id="point-gone"),
        pytest.param("Table 12 3456 x", "123456", [], id="two-columns"),
        pytest.param("x 123,456.78", "12345678", [], id="amount-as-identifier"),
        pytest.param("on 2024-1-11", "2024-11-1", [], id="hyphen-elsewhere"),
        pytest.param("Range 10-20 mm", "Range 1020 mm", [], id="hyphen-gone"),
        pytest.param("at $12345 in all", "at $12,345 in all", [("at $12345 in all", FOLDED)], id="number-in-a-text"),
        pytest.param("Page 17, INV-16", "INV-17", [], id="number-of-an-identifier"),
        pytest.param("Ordered in 2024", "AB-2024", [], id="year-of-an-identifier"),
        pytest.param("as INV 17", "INV-17", [("INV 17", FOLDED)], id="short-identifier"),
        pytest.param("at 0.320", "0.32 €/kWh", [("0.320", FOLDED)], id="units"),
        pytest.param("card 4111 1111 1111 1111", "4111111111111111", [("4111 1111 1111 1111", FOLDED)], id="card"),
        pytest.param("DE8937040044", "DE89 3704 0044", [("DE8937040044", FOLDED)], id="iban"),
        pytest.param("tel. 030/12 34 56 78", "030 12345678", [("030/12 34 56 78", FOLDED)], id="groups-of-a-telephone"),
        pytest.param("x", True, None, id="boolean"),
        pytest.param("x", None, None, id="null"),
        pytest.param("x", "  ", None, id="empty"),
        pytest.param("x", ["x"], None, id="list"),
        pytest.param("x", 10**60, None, id="huge"),
        pytest.param("x", float("nan"), None, id="nan"),
    ],
)
def test_values_are_found(text, value, found):
    assert quotes(text, value) == found


@pytest.mark.parametrize(
    ("text", "value", "nearest"),
    [
        pytest.param("Invoice of ACME Gmbh & Co.", "ACNE GmbH", "ACME Gmbh", id="a-wrong-letter"),
        pytest.param(
            "Club Bancario de Guadalajara", "Club Bancario de Guadalajarra", "Club Bancario de Guadalajara", id="name"
        ),
        pytest.param("net 1,000.00 total 1,190.00", 1109, "1,190.00", id="digits-swapped"),
        pytest.param("due 14 March 2024, sent 1 May 2019", "2024-03-15", "14 March 2024", id="date"),
        pytest.param("nothing alike", "zzzzzzzz", None, id="nothing"),
        pytest.param("it is used", "USD", None, id="a-short-text"),
    ],
)
def test_the_nearest_text_is_told(text, value, nearest):
    evidence = find_evidence(Document(text=text), value)
    assert not evidence.found
    assert evidence.locations == ()
    if nearest is None:
        assert evidence.nearest is None
    else:
        assert evidence.nearest.quote == nearest
        assert evidence.nearest.level is FUZZY
        assert 0.6 <= evidence.nearest.similarity < 1


def test_a_long_text_that_differs_in_a_word_is_nearest_to_itself():
    words = [f"word{number}" for number in range(300)]
    text = "before " + " ".join(words) + " after"
    evidence = find_evidence(Document(text=text), " ".join([*words[:50], "other", *words[51:100]]))
    assert evidence.nearest.quote.startswith("word0 word1 ")
    assert evidence.nearest.quote.endswith(" word99")


def test_a_very_long_text_is_nearest_to_itself_and_one_beyond_the_limit_is_not_searched():
    words = [f"word{number}" for number in range(4_000)]  # to align it as a whole takes minutes
    document = Document(text=" ".join(["before it", *words, "after it"]))
    value = " ".join([*words[50:1_000], "another", *words[1_001:2_000]])
    nearest = find_evidence(document, value).nearest
    assert (nearest.quote[:7], nearest.quote[-8:]) == ("word50 ", "word1999")
    assert find_evidence(document, value + " more" * 5_000) is None


def test_locations_have_page_line_column_and_offsets():
    pages = ["first page", "second\n page: 42 items"]
    document = PagedDocument(pages)
    evidence = find_evidence(document, 42)
    assert evidence.locations == (TextLocation(2, 2, 8, 14, 16, "42", EXACT),)
    assert str(evidence.locations[0]) == "page 2, line 2, column 8"
    assert pages[1][14:16] == "42"


class PagedDocument(Document):
    def __init__(self, pages):
        super().__init__(text="\f".join(pages))
        self._given = tuple(pages)

    @property
    def pages(self):
        return self._given


def test_a_text_across_two_pages_is_found_on_the_first():
    evidence = find_evidence(PagedDocument(["it begins", "here and ends"]), "begins here")
    assert [(each.page, each.quote) for each in evidence.locations] == [(1, "begins")]


def test_locations_are_bounded_and_counted():
    evidence = find_evidence(Document(text="x 7 " * 50), 7, most=3)
    assert (len(evidence.locations), evidence.count) == (3, 50)


def test_the_nearest_text_is_left_out_where_nobody_asks_for_it():
    document = Document(text="Total 1,190.00 and 42")
    assert find_evidence(document, 1109).nearest
    assert find_evidence(document, 1109, nearest=False) == Evidence()
    assert find_evidence(document, 42, nearest=False) == find_evidence(document, 42)


def test_a_document_without_text_is_an_error(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(DocumentError, match="has no text"):
        find_evidence(Document(tmp_path / "a.png"), "x")
    with pytest.raises(DocumentError, match="has no text \\(a scan\\?\\)"):
        find_evidence(Document(text=" \n\f"), "x")


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=60))
def test_a_text_between_spaces_is_always_found_and_quotes_are_of_the_text(before, value, after):
    text = f"{before} {value} {after}"
    evidence = find_evidence(Document(text=text), value) if text.strip() else None
    if evidence is None:
        return
    assert evidence.found
    assert all(text[each.start : each.end] == each.quote for each in evidence.locations)
    assert any(
        " ".join(value.split()).casefold() in " ".join(each.quote.split()).casefold() for each in evidence.locations
    )


@given(st.text(), st.one_of(st.text(), st.integers(), st.floats()))
def test_any_value_can_be_searched_in_any_text(text, value):
    try:
        evidence = find_evidence(Document(text=text), value)
    except DocumentError:
        return
    for each in () if evidence is None else (*evidence.locations, *filter(None, [evidence.nearest])):
        assert text[each.start : each.end] == each.quote


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_a_number_is_found_in_every_notation(number):
    english = f"{abs(number):,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    for text in (english, german, english.replace(",", "\u00a0"), english.replace(",", "'"), english.replace(",", "")):
        assert quotes(f"x {text} y", float(number)), text


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        pytest.param("1,", id="separators"),
        pytest.param("(", id="brackets"),
        pytest.param("1 000 ", id="groups"),
        pytest.param("March ", id="months"),
        pytest.param("a\u0301", id="marks"),
        pytest.param("ab", id="one-word"),
    ],
)
def test_hostile_texts_take_time_in_proportion(part):
    def seconds(count):
        def find():
            document = Document(text=part * count)
            for value in ("ab" * 100, "(((", 1000, "1 March 2024", "March 2024 of the year", "a\u0301b"):
                find_evidence(document, value)

        return cpu_seconds(find)

    seconds(10)
    assert seconds(32_000) < 64 * seconds(2_000) + 0.2, "16 times is in proportion, 256 times grows with the square"


def test_most_values_of_the_published_golds_are_found():
    """All numbers of a 10-Q are; names of periods, units and placeholders stand in no document."""
    pytest.importorskip("pypdfium2")
    folder = shared("data/extract-bench/dataset/finance/10kq/pdf+gold")
    gold = json.loads((folder / "adp_10q_fy2025q2.gold.json").read_text(encoding="utf-8"))
    document = Document(folder / "adp_10q_fy2025q2.pdf")
    numbers = [value for _, value in iter_leaves(gold) if type(value) in (int, float)]
    assert len(numbers) > 300
    assert [value for value in numbers if not find_evidence(document, value).found] == []
