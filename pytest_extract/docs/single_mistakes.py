"""Realistic outputs with one mistake each, for the manual: what it is called there is what a run calls it."""

from __future__ import annotations

from typing import Final, NamedTuple

from pytest_extract.core.values import Json


class SingleMistake(NamedTuple):
    """What somebody would call the mistake, gold and output, the kind that is named, and more text of the document."""

    what: str
    gold: Json
    extracted: Json
    kind: str
    text: str = ""


_BOLT: Final = {"name": "Hexagon bolt", "net": 10.5, "gross": 12.5, "code": "AB-1047"}
_NUT: Final = {"name": "Locking nut", "net": 20.25, "gross": 24.1, "code": "CD-2258"}
_GEAR: Final = {"name": "Bevel gear", "net": 31.75, "gross": 37.78, "code": "EF-3369"}
_CLIP: Final = {"name": "Spring clip", "net": 48.5, "gross": 57.72, "code": "GH-4471"}
_ROWS: Final = [_BOLT, _NUT, _GEAR, _CLIP]
_INVOICE: Final = {"vendor_name": "ACME GmbH", "number": "RE-2024-118", "total": 1190.5}


def _swapped(row: dict[str, Json]) -> dict[str, Json]:
    return {**row, "net": row["gross"], "gross": row["net"]}


SINGLE_MISTAKES: Final = (
    SingleMistake("100 times too large", 1234.5, 123450, "power_of_ten"),
    SingleMistake("in thousands", 450000, 450, "power_of_ten"),
    SingleMistake("scale word lost", "$1.2 million", "$1.2", "power_of_ten"),
    SingleMistake("minus lost", -1250, 1250, "sign"),
    SingleMistake("number in brackets as text", -1250, "(1,250)", "number_as_text"),
    SingleMistake("number with separators as text", 1234.5, "1,234.50", "number_as_text"),
    SingleMistake("digits swapped", 1109, 1190, "digits_swapped"),
    SingleMistake("digit dropped", 12345, 1345, "digit_lost"),
    SingleMistake("digit doubled", "4711-88", "47711-88", "digit_lost"),
    SingleMistake("8 read as 3", 1834, 1334, "digit_misread"),
    SingleMistake("German separators", 1234.5, "1.234,50", "decimal_separator"),
    SingleMistake("separator of thousands as decimal point", 1234, 1.234, "decimal_separator"),
    SingleMistake("percentage for a fraction", 0.12, 12, "percent_or_fraction"),
    SingleMistake("percentage as text for a fraction", 0.12, "12 %", "percent_or_fraction"),
    SingleMistake("currency kept in a number", 99.5, "$99.50", "unit_or_currency"),
    SingleMistake("unit lost", "5 kg", "5", "unit_or_currency"),
    SingleMistake("another unit", "5 kg", "5 lb", "unit_or_currency"),
    SingleMistake("another currency", "EUR 250", "USD 250", "unit_or_currency"),
    SingleMistake("rounded", 1234.56, 1235, "rounded"),
    SingleMistake("decimals cut", 3.14159, 3.14, "rounded"),
    SingleMistake("date in the format of the document", "2024-08-02", "02.08.2024", "date_format"),
    SingleMistake("date in words", "2024-08-02", "August 2, 2024", "date_format"),
    SingleMistake("day and month swapped", "2024-03-04", "2024-04-03", "day_and_month"),
    SingleMistake(
        "another date of the document", "2024-03-15", "2022-11-30", "other_date", "signed on 30 November 2022"
    ),
    SingleMistake("one day earlier (time zone)", "2024-03-15", "2024-03-14", "date_close"),
    SingleMistake("last year", "2024-03-15", "2023-03-15", "date_close"),
    SingleMistake("only the month", "2024-03-15", "2024-03", "date_part"),
    SingleMistake("a time that nobody wrote", "2024-03-15", "2024-03-15T00:00:00", "time_of_day"),
    SingleMistake("leading zero lost", "01067", "1067", "leading_zeros"),
    SingleMistake("post code as number", "01067", 1067, "leading_zeros"),
    SingleMistake("number as text", 42, "42", "number_as_text"),
    SingleMistake("identifier as number", "4711", 4711, "number_as_text"),
    SingleMistake("boolean as text", gold=True, extracted="yes", kind="boolean_as_text"),
    SingleMistake("boolean as number", gold=True, extracted=1, kind="boolean_as_text"),
    SingleMistake("yes and no confused", gold=True, extracted=False, kind="boolean_flipped"),
    SingleMistake("N/A for nothing", None, "N/A", "placeholder"),
    SingleMistake("empty text for nothing", None, "", "placeholder"),
    SingleMistake("placeholder for the value", "ACME GmbH", "unknown", "placeholder"),
    SingleMistake("label kept", "4711", "Invoice No.: 4711", "affix"),
    SingleMistake("legal form lost", "ACME GmbH", "ACME", "affix"),
    SingleMistake("title kept", "Jane Doe", "Dr. Jane Doe", "affix"),
    SingleMistake("last name first", "Jane Doe", "Doe, Jane", "word_order"),
    SingleMistake("initial", "Jane Doe", "J. Doe", "abbreviation"),
    SingleMistake("acronym written out", "IBM", "International Business Machines", "abbreviation"),
    SingleMistake("case", "ACME GmbH", "Acme GmbH", "case"),
    SingleMistake("accent lost", "José García", "Jose Garcia", "diacritics"),
    SingleMistake("ü written as ue", "Müller", "Mueller", "diacritics"),
    SingleMistake("ligature", "final offer", "\ufb01nal offer", "ligature"),
    SingleMistake("ß written as ss", "Hauptstraße 5", "Hauptstrasse 5", "ligature"),
    SingleMistake("another dash", "2019-2024", "2019\u20132024", "dash_or_quote"),
    SingleMistake("wrong encoding", "Müller", "MÃ¼ller", "encoding"),
    SingleMistake("entity of HTML", "AT&T", "AT&amp;T", "markup"),
    SingleMistake("bold of Markdown", "ACME GmbH", "**ACME GmbH**", "markup"),
    SingleMistake("hyphen of a line break", "international", "inter-\nnational", "line_break_hyphen"),
    SingleMistake("text cut off", "Delivery to the main entrance only", "Delivery to the main ent", "truncated"),
    SingleMistake("misspelled", "Guadalajara", "Guadalajarra", "spelling"),
    SingleMistake("O read as 0", "AO-17B", "A0-17B", "character_misread"),
    SingleMistake("space lost", "ACME Tools", "ACMETools", "white_space"),
    SingleMistake("comma lost", "ACME, Inc.", "ACME Inc", "punctuation"),
    SingleMistake("value twice", "ACME GmbH", "ACME GmbH ACME GmbH", "repeated"),
    SingleMistake("list joined", ["red", "blue"], "red, blue", "list_or_single"),
    SingleMistake("single value for a list", ["red"], "red", "list_or_single"),
    SingleMistake("list for a single value", "red", ["red"], "list_or_single"),
    SingleMistake("translated", "Germany", "Allemagne", "not_in_document"),
    SingleMistake("invented", None, "Net 30 days", "not_in_document"),
    SingleMistake("another name of the document", "ACME GmbH", "Globex Ltd", "other_value", "shipped by Globex Ltd"),
    SingleMistake("not found", "ACME GmbH", None, "omitted"),
    SingleMistake("words for nothing", None, "Not mentioned in the document", "placeholder"),
    SingleMistake("keine Angabe", None, "k. A.", "placeholder"),
    SingleMistake("brackets of a loss as a minus", "(4,321)", "-4,321", "decimal_separator"),
    SingleMistake("separators of thousands dropped in a text", "1,250,000", "1250000", "decimal_separator"),
    SingleMistake("Mio. lost", "12,5 Mio. EUR", "12,5 EUR", "power_of_ten"),
    SingleMistake("unit converted", "2.5 kg", "2500 g", "unit_or_currency"),
    SingleMistake("unit of a laboratory value", "mg/dL", "g/dL", "unit_or_currency"),
    SingleMistake("symbol of a currency", "EUR", "€", "unit_or_currency"),
    SingleMistake("zeros inside a number of a document", "RE-00412", "RE-412", "leading_zeros"),
    SingleMistake("12-hour clock", "14:30", "2:30 PM", "time_of_day"),
    SingleMistake("another time zone", "2024-03-15T10:00:00+01:00", "2024-03-15T10:00:00Z", "time_of_day"),
    SingleMistake("day and month swapped as written", "04/07/2024", "07/04/2024", "day_and_month"),
    SingleMistake("a day that does not exist", "2024-06-30", "2024-06-31", "date_close"),
    SingleMistake("boolean for a text", gold="approved", extracted=True, kind="boolean_as_text"),
    SingleMistake("country of a VAT number lost", "DE123456789", "123456789", "affix"),
    SingleMistake("middle name lost", "John Michael Smith", "John Smith", "affix"),
    SingleMistake(
        "page header in a sentence",
        "The parties agree to the following terms and conditions",
        "The parties agree to the Page 3 following terms and conditions",
        "affix",
    ),
    SingleMistake("mark of a footnote", "Net revenue", "Net revenue¹", "affix"),
    SingleMistake("about", 250, "approx. 250", "affix"),
    SingleMistake("country code lost", "+49 30 1234567", "030 1234567", "affix"),
    SingleMistake("Japanese form of address", "山田太郎", "山田太郎様", "affix"),
    SingleMistake("line break of HTML", "Hauptstr. 5 10115 Berlin", "Hauptstr. 5<br>10115 Berlin", "markup"),
    SingleMistake("escape of JSON", "Zürich", "Z\\u00fcrich", "markup"),
    SingleMistake("Cyrillic letter", "ACME GmbH", "\u0410CME GmbH", "character_misread"),
    SingleMistake("character without a width", "ACME GmbH", "ACME\u200b GmbH", "white_space"),
    SingleMistake("case and punctuation", "net_30", "Net 30", "punctuation"),
    SingleMistake("line break in an address", "Hauptstr. 5\n10115 Berlin", "Hauptstr. 5, 10115 Berlin", "punctuation"),
    SingleMistake("object for a value", 100.5, {"value": 100.5, "currency": "EUR"}, "wrapped"),
    SingleMistake(
        "object joined",
        {"name": "X Corp", "address": {"street": "Ringweg 5", "city": "Bonn"}},
        {"name": "X Corp", "address": "Ringweg 5, Bonn"},
        "list_or_single",
    ),
    SingleMistake(
        "object flattened",
        {"vendor": {"name": "ACME GmbH"}, "total": 1190.5},
        {"vendor_name": "ACME GmbH", "total": 1190.5},
        "renamed_key",
    ),
    SingleMistake(
        "keys renamed in all rows",
        _ROWS,
        [
            {"description": row["name"], "netto": row["net"], "brutto": row["gross"], "sku": row["code"]}
            for row in _ROWS
        ],
        "renamed_key",
    ),
    SingleMistake("objects for the values of a list", ["Bolt", "Nut"], [{"name": "Bolt"}, {"name": "Nut"}], "wrapped"),
    SingleMistake("each row in an object", _ROWS, [{"item": row} for row in _ROWS], "wrapped"),
    SingleMistake("result of a tool call", _INVOICE, {"name": "extract", "arguments": _INVOICE}, "wrapped"),
    SingleMistake("TEUR", 450000, "TEUR 450", "unit_or_currency"),
    SingleMistake("date with its label", "2024-11-05", "Datum: 05.11.2024", "affix"),
    SingleMistake("brackets of a telephone number", "(415) 555-0132", "415-555-0132", "punctuation"),
    SingleMistake("ligature that the PDF cannot name", "final offer", "nal offer", "ligature"),
    SingleMistake("letter with a stroke", "Łódź", "Lodz", "diacritics"),
    SingleMistake("dashes of an identifier", "1-0-1", "101", "punctuation"),
    SingleMistake("row of nothing", _ROWS, [*_ROWS, dict.fromkeys(_BOLT)], "invented_row"),
    SingleMistake(
        "only the rows", {"entries": [{"name": "Bolt", "net": 10.5}]}, [{"name": "Bolt", "net": 10.5}], "wrapped"
    ),
    SingleMistake("list joined in a list", ["Python", "Go", "Rust"], ["Python, Go, Rust"], "merged_rows"),
    SingleMistake("net for gross", {"net": 1000.5, "gross": 1190.6}, {"net": 1000.5, "gross": 1000.5}, "other_field"),
    SingleMistake(
        "addresses swapped",
        {"ship_to": "Berlin", "bill_to": "Paris"},
        {"ship_to": "Paris", "bill_to": "Berlin"},
        "swapped_fields",
    ),
    SingleMistake("columns swapped", _ROWS, [_swapped(row) for row in _ROWS], "swapped_columns"),
    SingleMistake(
        "column shifted by a row",
        _ROWS,
        [_BOLT, {**_NUT, "net": 10.5}, {**_GEAR, "net": 20.25}, {**_CLIP, "net": 31.75}],
        "shifted_column",
    ),
    SingleMistake("value of the next row", _ROWS, [_BOLT, {**_NUT, "net": 31.75}, _GEAR, _CLIP], "neighbouring_row"),
    SingleMistake("row lost", _ROWS, [_BOLT, _NUT, _CLIP], "missing_row"),
    SingleMistake("row twice", _ROWS, [_BOLT, _NUT, _NUT, _GEAR, _CLIP], "duplicated_row"),
    SingleMistake("second page lost", _ROWS, [_BOLT, _NUT], "truncated_list"),
    SingleMistake(
        "row split at a line break",
        _ROWS,
        [{**_BOLT, "name": "Hexagon"}, dict.fromkeys(_BOLT) | {"name": "bolt"}, _NUT, _GEAR, _CLIP],
        "split_row",
    ),
    SingleMistake(
        "two rows in one", _ROWS, [{**_BOLT, "name": "Hexagon bolt Locking nut"}, _GEAR, _CLIP], "merged_rows"
    ),
    SingleMistake(
        "total as a row", _ROWS, [*_ROWS, dict.fromkeys(_BOLT) | {"name": "Total", "net": 111.0}], "invented_row"
    ),
    SingleMistake(
        "header as a row",
        _ROWS,
        [{"name": "Name", "net": "Net", "gross": "Gross", "code": "Code"}, *_ROWS],
        "invented_row",
    ),
    SingleMistake(
        "key renamed", _INVOICE, {"supplier": "ACME GmbH", "number": "RE-2024-118", "total": 1190.5}, "renamed_key"
    ),
    SingleMistake(
        "key in another case",
        _INVOICE,
        {"vendorName": "ACME GmbH", "number": "RE-2024-118", "total": 1190.5},
        "renamed_key",
    ),
    SingleMistake("all of it under a key", _INVOICE, {"invoice": _INVOICE}, "wrapped"),
    SingleMistake("all of it in a list", _INVOICE, [_INVOICE], "wrapped"),
)
"""The mistakes. A gold that is no object is the value of a field, beside another that is right."""


def documents_of(mistake: SingleMistake) -> tuple[Json, Json]:
    """Return gold and output as whole documents."""
    if isinstance(mistake.gold, dict):
        return mistake.gold, mistake.extracted
    return {"field": mistake.gold, "other": "as it is"}, {"field": mistake.extracted, "other": "as it is"}
