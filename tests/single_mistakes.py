"""Realistic outputs with one mistake each, and the kind that a run names."""

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
    SingleMistake("number in brackets as text", -1250, "(1,250)", "wrong_type"),
    SingleMistake("number with separators as text", 1234.5, "1,234.50", "wrong_type"),
    SingleMistake("digits swapped", 1109, 1190, "wrong_digits"),
    SingleMistake("digit dropped", 12345, 1345, "wrong_digits"),
    SingleMistake("digit doubled", "4711-88", "47711-88", "wrong_digits"),
    SingleMistake("two digits lost", "DE8937040044", "DE89370044", "wrong_digits"),
    SingleMistake("two digits added apart", 12345, 1723485, "wrong_digits"),
    SingleMistake("8 read as 3", 1834, 1334, "wrong_digits"),
    SingleMistake("German separators", 1234.5, "1.234,50", "decimal_separator"),
    SingleMistake("separator of thousands as decimal point", 1234, 1.234, "decimal_separator"),
    SingleMistake("percentage for a fraction", 0.12, 12, "percent_or_fraction"),
    SingleMistake("percentage as text for a fraction", 0.12, "12 %", "percent_or_fraction"),
    SingleMistake("currency kept in a number", 99.5, "$99.50", "affix"),
    SingleMistake("unit lost", "5 kg", "5", "affix"),
    SingleMistake("another currency", "EUR 250", "USD 250", "affix"),
    SingleMistake("rounded", 1234.56, 1235, "rounded"),
    SingleMistake("decimals cut", 3.14159, 3.14, "rounded"),
    SingleMistake("date in the format of the document", "2024-08-02", "02.08.2024", "date_format"),
    SingleMistake("date in words", "2024-08-02", "August 2, 2024", "date_format"),
    SingleMistake("day and month swapped", "2024-03-04", "2024-04-03", "day_and_month"),
    SingleMistake(
        "another date of the document", "2024-03-15", "2022-11-30", "other_value", "signed on 30 November 2022"
    ),
    SingleMistake("one day earlier (time zone)", "2024-03-15", "2024-03-14", "not_in_document"),
    SingleMistake("last year", "2024-03-15", "2023-03-15", "not_in_document"),
    SingleMistake("only the month", "2024-03-15", "2024-03", "date_part"),
    SingleMistake("a time that nobody wrote", "2024-03-15", "2024-03-15T00:00:00", "time_or_zone"),
    SingleMistake("leading zero lost", "01067", "1067", "wrong_digits"),
    SingleMistake("post code as number", "01067", 1067, "wrong_type"),
    SingleMistake("number as text", 42, "42", "wrong_type"),
    SingleMistake("identifier as number", "4711", 4711, "wrong_type"),
    SingleMistake("boolean as text", gold=True, extracted="yes", kind="wrong_type"),
    SingleMistake("boolean as number", gold=True, extracted=1, kind="wrong_type"),
    SingleMistake("N/A for nothing", None, "N/A", "placeholder"),
    SingleMistake("empty text for nothing", None, "", "placeholder"),
    SingleMistake("placeholder for the value", "ACME GmbH", "unknown", "placeholder"),
    SingleMistake("label kept", "4711", "Invoice No.: 4711", "affix"),
    SingleMistake("legal form lost", "ACME GmbH", "ACME", "affix"),
    SingleMistake("title kept", "Jane Doe", "Dr. Jane Doe", "affix"),
    SingleMistake("last name first", "Jane Doe", "Doe, Jane", "word_order"),
    SingleMistake("initial", "Jane Doe", "J. Doe", "not_in_document"),
    SingleMistake("acronym written out", "IBM", "International Business Machines", "not_in_document"),
    SingleMistake("case", "ACME GmbH", "Acme GmbH", "case"),
    SingleMistake("accent lost", "José García", "Jose Garcia", "marks"),
    SingleMistake("ü written as ue", "Müller", "Mueller", "marks"),
    SingleMistake("marks", "final offer", "\ufb01nal offer", "marks"),
    SingleMistake("ß written as ss", "Hauptstraße 5", "Hauptstrasse 5", "marks"),
    SingleMistake("another dash", "2019-2024", "2019\u20132024", "marks"),
    SingleMistake("wrong encoding", "Müller", "MÃ¼ller", "not_in_document"),
    SingleMistake("entity of HTML", "AT&T", "AT&amp;T", "markup"),
    SingleMistake("bold of Markdown", "ACME GmbH", "**ACME GmbH**", "markup"),
    SingleMistake("hyphen of a line break", "international", "inter-\nnational", "marks"),
    SingleMistake("text cut off", "Delivery to the main entrance only", "Delivery to the main ent", "truncated"),
    SingleMistake("misspelled", "Guadalajara", "Guadalajarra", "not_in_document"),
    SingleMistake("O read as 0", "AO-17B", "A0-17B", "not_in_document"),
    SingleMistake("space lost", "ACME Tools", "ACMETools", "white_space"),
    SingleMistake("comma lost", "ACME, Inc.", "ACME Inc", "marks"),
    SingleMistake("value twice", "ACME GmbH", "ACME GmbH ACME GmbH", "affix"),
    SingleMistake("list joined", ["red", "blue"], "red, blue", "wrong_type"),
    SingleMistake("single value for a list", ["red"], "red", "wrong_type"),
    SingleMistake("list for a single value", "red", ["red"], "wrong_type"),
    SingleMistake("translated", "Germany", "Allemagne", "not_in_document"),
    SingleMistake("invented", None, "Net 30 days", "not_in_document"),
    SingleMistake("another name of the document", "ACME GmbH", "Globex Ltd", "other_value", "shipped by Globex Ltd"),
    SingleMistake("not found", "ACME GmbH", None, "missing"),
    SingleMistake("words for nothing", None, "Not mentioned in the document", "placeholder"),
    SingleMistake("keine Angabe", None, "k. A.", "placeholder"),
    SingleMistake("brackets of a loss as a minus", "(4,321)", "-4,321", "decimal_separator"),
    SingleMistake("separators of thousands dropped in a text", "1,250,000", "1250000", "decimal_separator"),
    SingleMistake("Mio. lost", "12,5 Mio. EUR", "12,5 EUR", "power_of_ten"),
    SingleMistake("unit converted", "2.5 kg", "2500 g", "not_in_document"),
    SingleMistake("symbol of a currency", "EUR", "€", "not_in_document"),
    SingleMistake("zeros inside a number of a document", "RE-00412", "RE-412", "wrong_digits"),
    SingleMistake("another time zone", "2024-03-15T10:00:00+01:00", "2024-03-15T10:00:00Z", "time_or_zone"),
    SingleMistake("day and month swapped as written", "04/07/2024", "07/04/2024", "day_and_month"),
    SingleMistake("a day that does not exist", "2024-06-30", "2024-06-31", "not_in_document"),
    SingleMistake("boolean for a text", gold="approved", extracted=True, kind="wrong_type"),
    SingleMistake("country of a VAT number lost", "DE123456789", "123456789", "affix"),
    SingleMistake("mark of a footnote", "Net revenue", "Net revenue¹", "affix"),
    SingleMistake("about", 250, "approx. 250", "affix"),
    SingleMistake("country code lost", "+49 30 1234567", "030 1234567", "not_in_document"),
    SingleMistake("Japanese form of address", "山田太郎", "山田太郎様", "affix"),
    SingleMistake("line break of HTML", "Hauptstr. 5 10115 Berlin", "Hauptstr. 5<br>10115 Berlin", "markup"),
    SingleMistake("escape of JSON", "Zürich", "Z\\u00fcrich", "not_in_document"),
    SingleMistake("Cyrillic letter", "ACME GmbH", "\u0410CME GmbH", "not_in_document"),
    SingleMistake("character without a width", "ACME GmbH", "ACME\u200b GmbH", "white_space"),
    SingleMistake("case and punctuation", "net_30", "Net 30", "marks"),
    SingleMistake("line break in an address", "Hauptstr. 5\n10115 Berlin", "Hauptstr. 5, 10115 Berlin", "marks"),
    SingleMistake("object for a value", 100.5, {"value": 100.5, "currency": "EUR"}, "wrapped"),
    SingleMistake(
        "object joined",
        {"name": "X Corp", "address": {"street": "Ringweg 5", "city": "Bonn"}},
        {"name": "X Corp", "address": "Ringweg 5, Bonn"},
        "wrong_type",
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
    SingleMistake(
        "result of a tool call as text",
        {"vendor": "ACME", "total": 12.5},
        {"name": "extract", "arguments": '{"vendor": "ACME", "total": 12.5}'},
        "wrapped",
    ),
    SingleMistake(
        "rows as texts",
        {"vendor": "ACME", "items": [{"sku": "a", "price": 10}, {"sku": "b", "price": 20}]},
        {"vendor": "ACME", "items": ['{"sku": "a", "price": 10}', '{"sku": "b", "price": 20}']},
        "wrapped",
    ),
    SingleMistake("result of a tool call", _INVOICE, {"name": "extract", "arguments": _INVOICE}, "wrapped"),
    SingleMistake("TEUR", 450000, "TEUR 450", "power_of_ten"),
    SingleMistake("date with its label", "2024-11-05", "Datum: 05.11.2024", "not_in_document"),
    SingleMistake("ligature that the PDF cannot name", "final offer", "nal offer", "not_in_document"),
    SingleMistake("letter with a stroke", "Łódź", "Lodz", "marks"),
    SingleMistake("dashes of an identifier", "1-0-1", "101", "marks"),
    SingleMistake("row of nothing", _ROWS, [*_ROWS, dict.fromkeys(_BOLT)], "invented_row"),
    SingleMistake("list joined in a list", ["Python", "Go", "Rust"], ["Python, Go, Rust"], "merged_rows"),
    SingleMistake("net for gross", {"net": 1000.5, "gross": 1190.6}, {"net": 1000.5, "gross": 1000.5}, "other_value"),
    SingleMistake(
        "addresses swapped",
        {"ship_to": "Berlin", "bill_to": "Paris"},
        {"ship_to": "Paris", "bill_to": "Berlin"},
        "swapped_fields",
    ),
    SingleMistake("columns swapped", _ROWS, [_swapped(row) for row in _ROWS], "swapped_fields"),
    SingleMistake(
        "column shifted by a row",
        _ROWS,
        [_BOLT, {**_NUT, "net": 10.5}, {**_GEAR, "net": 20.25}, {**_CLIP, "net": 31.75}],
        "other_value",
    ),
    SingleMistake("value of the next row", _ROWS, [_BOLT, {**_NUT, "net": 31.75}, _GEAR, _CLIP], "other_value"),
    SingleMistake("row lost", _ROWS, [_BOLT, _NUT, _CLIP], "missing_row"),
    SingleMistake("row twice", _ROWS, [_BOLT, _NUT, _NUT, _GEAR, _CLIP], "duplicated_row"),
    SingleMistake("second page lost", _ROWS, [_BOLT, _NUT], "missing_row"),
    SingleMistake(
        "row split at a line break",
        _ROWS,
        [{**_BOLT, "name": "Hexagon"}, dict.fromkeys(_BOLT) | {"name": "bolt"}, _NUT, _GEAR, _CLIP],
        "merged_rows",
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
