"""Where a value stands in a document, and lines that look like rows and belong to none."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.cli import main
from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import Evidence, MatchLevel, TextLocation, find_evidence, more_rows
from tests.cpu_time import cpu_seconds
from tests.shared_data import shared


def quotes(text, value):
    """Return what is found: a quote that is the value itself after a `=`."""
    evidence = find_evidence(Document(text=text), value)
    if evidence is None:
        return None
    return [("=" if each.level is MatchLevel.EXACT else "") + each.quote for each in evidence.locations]


TEXTS = [
    ("Invoice of ACME GmbH", "ACME GmbH", ["=ACME GmbH"]),
    ("ACME \n GmbH", "ACME GmbH", ["=ACME \n GmbH"]),
    ("Acme gmbh", "ACME GmbH", ["Acme gmbh"]),
    ("2019–2024", "2019-2024", ["2019–2024"]),
    ("O’Neill “Sons”", 'O\'Neill "Sons"', ["O’Neill “Sons”"]),
    ("the ﬁnal oﬀer", "final offer", ["ﬁnal oﬀer"]),
    ("cafe\u0301 au lait", "café au lait", ["cafe\u0301 au lait"]),
    ("soft\u00adware", "software", ["soft\u00adware"]),
    ("an inter-\nnational firm", "international", ["inter-\nnational"]),
    ("a well-\nknown firm", "well-known", ["well-\nknown"]),
    ("AT & T, Incorporated", "AT&T Incorporated", ["AT & T, Incorporated"]),
    ("fooACME bar", "ACME", []),  # inside of a word
    ("Jane Doe1 and", "Jane Doe", ["=Jane Doe"]),  # a footnote
    ("合同金额为五万元整。", "五万元", ["=五万元"]),  # no spaces between words
]
NUMBERS = [
    ("17 and 117 and 17.5 and 17,000", 17, ["=17"]),
    ("Total 1,234.50 EUR", 1234.5, ["1,234.50"]),
    ("Summe 1.234,50 €", 1234.5, ["1.234,50"]),
    ("total 1 234,50", 1234.5, ["1 234,50"]),
    ("12'345.60 Fr.", 12345.6, ["12'345.60"]),
    ("₹ 12,34,567", 1234567, ["12,34,567"]),
    ("loss of (1,250)", -1250, ["1,250"]),
    ("grew by 5.3 %", 0.053, ["5.3 %"]),
    ("$1.2 million", 1_200_000, ["1.2 million"]),
    ("3,5 Mrd. € und 5 crore", 3_500_000_000, ["3,5 Mrd"]),
    ("3,5 Mrd. € und 5 crore", 50_000_000, ["5 crore"]),
    ("Weight (t) 12.5, sales (T€) 1,5", "12.50 t", ["12.5"]),  # no trillions
    ("Weight (t) 12.5, sales (T€) 1,5", "1,50 T€", ["1,5"]),
    ("(in thousands)\nSales 4,285", 4_285_000, ["4,285"]),  # the unit of a table
    ("Sales 4,285", 4_285_000, []),
    ("as of 31.12.2024", 2024, ["=2024"]),
    ("1.234", 1.234, ["=1.234"]),
    ("is 3.0 or 3", 3.0, ["3.0", "=3"]),
    ("5e-3 is 0.005", 0.005, ["=0.005"]),
    ("a rate of .5 (.50)", 0.5, [".5", ".50"]),
    ("a rate of .5", 5, []),
    ("a,5;.1.2", 0.5, []),
    ("合計 １，２３４ 円", 1234, ["１，２３４"]),
    ("المجموع ١٢٣٤٫٥", 1234.5, ["١٢٣٤٫٥"]),
    ("0 items", 1e-13, []),
    ("Total: $1,234.50", "1234.50", ["1,234.50"]),
    ("Total: 1,234.50 $", "USD 1234.5", ["1,234.50"]),
    ("at 0.320", "0.32 €/kWh", ["0.320"]),
    ("Total 123,456", "1,234.56", []),  # a point elsewhere
    ("Total 5000.00 EUR", "50.0000", []),
    ("Total 1234 56", "1234.56", []),
]
DATES = [
    ("on March 15th, 2024", "2024-03-15", ["March 15th, 2024"]),
    ("am 15. März 2024", "2024-03-15", ["15. März 2024"]),
    ("15/03/24 and 03/15/2024", "2024-03-15", ["15/03/24", "03/15/2024"]),
    ("2024-03-15", "15 March 2024", ["2024-03-15"]),
    ("2024年3月15日", "2024-03-15", ["2024年3月15日"]),
    ("in March 2024", "2024-03", ["March 2024"]),
    ("15.03.2024", "2024-03-15T10:00:00Z", ["15.03.2024"]),
    ("15.03.2024", "2024-03-16", []),
    ("by 15-Mar-24 or 15MAR24", "2024-03-15", ["15-Mar-24", "15MAR24"]),
    ("Mar-15-2024, 15MAR2024", "2024-03-15", ["Mar-15-2024", "15MAR2024"]),
    ("am 15. 3. 2024", "2024-03-15", ["15. 3. 2024"]),
    ("12 May 10:30, 12 May 10 am", "2010-05-12", []),  # an hour behind a date
    ("from 15 Mar 24 Apr 2024", "2024-04-24", ["24 Apr 2024"]),
    ("on 2024-1-11", "2024-11-1", []),
]
IDENTIFIERS = [
    ("+1 (555) 123-4567", "555.123.4567", ["555) 123-4567"]),
    ("tel. 030/12 34 56 78", "030 12345678", ["030/12 34 56 78"]),
    ("card 4111 1111 1111 1111", "4111111111111111", ["4111 1111 1111 1111"]),
    ("DE8937040044", "DE89 3704 0044", ["DE8937040044"]),
    ("GB29 NWBK 6016 1331", "GB29NWBK60161331", ["GB29 NWBK 6016 1331"]),
    ("on 192.168.1.11", "192.168.11.1", []),
    ("at 1020 mm or 3040 mm", "10-20 mm or 30-40 mm", []),
    ("as INV 17", "INV-17", ["INV 17"]),
    ("Page 17, INV-16", "INV-17", []),
    ("Ordered in 2024", "AB-2024", []),
    ("Table 12 3456 x", "123456", []),  # two columns
    ("x 123,456.78", "12345678", []),  # an amount
    ("Range 10-20 mm", "Range 1020 mm", []),
]


@pytest.mark.parametrize(("text", "value", "found"), [*TEXTS, *NUMBERS, *DATES, *IDENTIFIERS])
def test_values_are_found(text, value, found):
    assert quotes(text, value) == found


@pytest.mark.parametrize("value", [True, None, "  ", ["x"], 10**60, float("nan")], ids=lambda value: f"{value!r:.9}")
def test_values_that_are_not_searched_for(value):
    assert quotes("x", value) is None


@pytest.mark.parametrize(
    ("text", "value", "nearest"),
    [
        ("Invoice of ACME Gmbh & Co.", "ACNE GmbH", "ACME Gmbh"),
        ("Club Bancario de Guadalajara", "Club Bancario de Guadalajarra", "Club Bancario de Guadalajara"),
        ("net 1,000.00 total 1,190.00", 1109, "1,190.00"),
        ("due 14 March 2024, sent 1 May 2019", "2024-03-15", "14 March 2024"),
        ("nothing alike", "zzzzzzzz", None),
        ("it is used", "USD", None),
    ],
)
def test_the_nearest_text_is_told_where_somebody_asks_for_it(text, value, nearest):
    document = Document(text=text)
    evidence = find_evidence(document, value)
    assert (evidence.found, evidence.locations) == (False, ())
    assert find_evidence(document, value, nearest=False) == Evidence()
    if nearest is None:
        assert evidence.nearest is None
    else:
        assert (evidence.nearest.quote, evidence.nearest.level) == (nearest, MatchLevel.FUZZY)
        assert 0.6 <= evidence.nearest.similarity < 1


@pytest.mark.parametrize("length", [100, 2_000])  # 2,000 words, to be aligned as a whole, take minutes
def test_a_long_text_that_differs_in_a_word_is_nearest_to_itself_and_one_beyond_the_limit_is_not_searched(length):
    words = [f"word{number}" for number in range(3 * length)]
    document = Document(text=" ".join(["before it", *words, "after it"]))
    value = " ".join([*words[:50], "other", *words[51:length]])
    nearest = find_evidence(document, value).nearest
    assert (nearest.quote.split()[0], nearest.quote.split()[-1]) == ("word0", f"word{length - 1}")
    assert find_evidence(document, value + " more" * 5_000) is None


def pdf_of(text):
    """Return a PDF of which this is read."""
    document = Document("a.pdf")
    document.read_by(lambda _: text)
    return document


def test_locations_have_page_line_column_and_offsets():
    evidence = find_evidence(pdf_of("first page\fsecond\n page: 42 items"), 42)
    assert evidence.locations == (TextLocation(2, 2, 8, 14, 16, "42", MatchLevel.EXACT),)
    assert str(evidence.locations[0]) == "page 2, line 2, column 8"
    (across,) = find_evidence(pdf_of("it begins\fhere and ends"), "begins here").locations
    assert (across.page, across.quote) == (1, "begins")


def test_locations_are_bounded_and_counted():
    evidence = find_evidence(Document(text="x 7 " * 50), 7, most=3)
    assert (len(evidence.locations), evidence.count) == (3, 50)
    assert find_evidence(Document(text="x 7 " * 50), 7, most=3, nearest=False) == evidence


def test_a_document_without_text_is_an_error(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(DocumentError, match="has no text"):
        find_evidence(Document(tmp_path / "a.png"), "x")
    with pytest.raises(DocumentError, match="has no text \\(a scan\\?\\)"):
        find_evidence(Document(text=" \n\f"), "x")


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=60))
def test_a_text_between_spaces_is_always_found(before, value, after):
    text = f"{before} {value} {after}"
    evidence = find_evidence(Document(text=text), value) if text.strip() else None
    if evidence is not None:
        found = [" ".join(each.quote.split()).casefold() for each in evidence.locations]
        assert any(" ".join(value.split()).casefold() in quote for quote in found)


@given(st.text(), st.one_of(st.text(), st.integers(), st.floats()))
def test_any_value_can_be_searched_in_any_text_and_quotes_are_of_the_text(text, value):
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
@pytest.mark.parametrize("part", ["1,", "(", "1 000 ", "March ", "a\u0301", "ab"])
def test_hostile_texts_take_time_in_proportion(part):
    def seconds(count):
        def find():
            document = Document(text=part * count)
            for value in ("ab" * 100, "(((", 1000, "1 March 2024", "March 2024 of the year", "a\u0301b"):
                find_evidence(document, value)

        return cpu_seconds(find)

    seconds(10)
    assert seconds(32_000) < 64 * seconds(2_000) + 0.2, "16 times is in proportion, 256 times grows with the square"


def test_all_numbers_of_a_published_gold_are_found():
    pytest.importorskip("pypdfium2")
    folder = shared("data/extract-bench/dataset/finance/10kq/pdf+gold")
    gold = json.loads((folder / "adp_10q_fy2025q2.gold.json").read_text(encoding="utf-8"))
    document = Document(folder / "adp_10q_fy2025q2.pdf")
    numbers = [value for _, value in iter_leaves(gold) if type(value) in (int, float)]
    assert len(numbers) > 300
    assert [value for value in numbers if not find_evidence(document, value).found] == []


# --- lines that look like rows

BILL = """Invoice 4711 of 2026-01-02
Pos Article Qty Price Total
1 Blue widget 2 10.00 20.00
2 Red widget 1 12.50 12.50
3 Green long widget 4 3.00 12.00
4 Steel bolt M8 10 0.20 2.00
  zinc plated
5 Nut 9 0.15 1.35
Total 47.85
Paid on 2026-01-02 within 12 days by 3 transfers
"""
ITEMS = [
    ("Blue widget", 2, 20),
    ("Red widget", 1, 12.5),
    ("Green long widget", 4, 12),
    ("Steel bolt M8", 10, 2),
    ("Nut", 9, 1.35),
]
ROWS = [{"name": name, "quantity": quantity, "total": total} for name, quantity, total in ITEMS]


@pytest.mark.parametrize(
    ("left_out", "numbers"), [((), []), ((3,), [6]), ((4,), [8]), ((0,), [3]), ((3, 4), [6, 8]), ((0, 1, 2), [])]
)
def test_the_lines_of_rows_that_are_missing_are_found(left_out, numbers):
    rows = [row for index, row in enumerate(ROWS) if index not in left_out]
    told = [text for _, text in more_rows(Document(text=BILL), {"items": rows})]
    assert [int(number) for text in told for number in re.findall(r"\bline (\d+)", text)] == numbers


def test_a_sentence_names_the_list_and_the_lines():
    lines = "line 6 '4 Steel bolt M8 10 0.20 2.00'; line 8 '5 Nut 9 0.15 1.35'"
    ((path, text),) = more_rows(Document(text=BILL), {"bill": {"items": ROWS[:3]}})
    assert (str(path), text) == ("bill.items", f"has 3 rows; 2 more lines look like some: {lines}")


def test_lines_of_other_lists_and_fields_are_no_rows_of_a_list():
    table = [("Bolt M6", 10), ("Nut M6", 20), ("Washer M6", 30), ("Screw M4", 40)]
    towns = [("Berlin", 11), ("Hamburg", 12), ("Bremen", 13)]
    gold = {
        "title": "Kettle 17",
        "parts": [{"name": name, "count": count} for name, count in table[:3]],
        "sites": [{"town": town, "n": number} for town, number in towns],
    }
    lines = ["Kettle 17", *(f"{name} {count}" for name, count in table + towns)]
    told = "1 more line looks like one: line 5 'Screw M4 40'"  # of either list
    found = more_rows(Document(text="\n".join(lines)), gold)
    assert [(str(path), told in text) for path, text in found] == [("parts", True), ("sites", True)]


def test_check_warns_of_rows_that_a_gold_lacks_and_a_draft_of_those_of_its_outputs(pytester, capsys):
    item = {"name": {"type": "string"}, "quantity": {"type": "number"}, "total": {"type": "number"}}
    items = {"type": "array", "items": {"type": "object", "properties": item}}
    case = {"text": BILL, "schema": {"type": "object", "properties": {"items": items}}, "gold": "a.gold.json"}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    lacks = "items has 4 rows; 1 more line looks like one: line 8 '5 Nut"
    pytester.makeconftest(
        f"import pytest\n@pytest.fixture\ndef extractor():\n    return lambda: {{'items': {ROWS[:4]}}}\n"
    )
    result = pytester.runpytest("--extract-update-gold=new")
    result.stdout.fnmatch_lines(["*a.gold.json: draft of 1 output*", f"*{lacks}*"])
    gold = {**case, "gold": {"items": ROWS[:4]}}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(gold), encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "--evidence", str(pytester.path)]) == 0
    assert f"{lacks} 9 0.15 1.35'" in capsys.readouterr().out
