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
    SingleMistake("in thousands", 450000, 450, "power_of_ten"),
    SingleMistake("scale word lost", "$1.2 million", "$1.2", "power_of_ten"),
    SingleMistake("minus lost", -1250, 1250, "sign"),
    SingleMistake("number in brackets as text", -1250, "(1,250)", "wrong_type"),
    SingleMistake("digits swapped", 1109, 1190, "wrong_digits"),
    SingleMistake("digit doubled", "4711-88", "47711-88", "wrong_digits"),
    SingleMistake("8 read as 3", 1834, 1334, "wrong_digits"),
    SingleMistake("German separators", 1234.5, "1.234,50", "decimal_separator"),
    SingleMistake("separator of thousands as decimal point", 1234, 1.234, "decimal_separator"),
    SingleMistake("percentage for a fraction", 0.12, 12, "percent_or_fraction"),
    SingleMistake("currency kept in a number", 99.5, "$99.50", "affix"),
    SingleMistake("unit lost", "5 kg", "5", "affix"),
    SingleMistake("another currency", "EUR 250", "USD 250", "affix"),
    SingleMistake("rounded", 1234.56, 1235, "rounded"),
    SingleMistake("date in the format of the document", "2024-08-02", "02.08.2024", "date_format"),
    SingleMistake("day and month swapped", "2024-03-04", "2024-04-03", "day_and_month"),
    SingleMistake(
        "another date of the document", "2024-03-15", "2022-11-30", "other_value", "signed on 30 November 2022"
    ),
    SingleMistake("one day earlier (time zone)", "2024-03-15", "2024-03-14", "not_in_document"),
    SingleMistake("only the month", "2024-03-15", "2024-03", "date_part"),
    SingleMistake("a time that nobody wrote", "2024-03-15", "2024-03-15T00:00:00", "time_or_zone"),
    SingleMistake("leading zero lost", "01067", "1067", "wrong_digits"),
    SingleMistake("number as text", 42, "42", "wrong_type"),
    SingleMistake("boolean as text", gold=True, extracted="yes", kind="wrong_type"),
    SingleMistake("N/A for nothing", None, "N/A", "placeholder"),
    SingleMistake("placeholder for the value", "ACME GmbH", "unknown", "placeholder"),
    SingleMistake("label kept", "4711", "Invoice No.: 4711", "affix"),
    SingleMistake("legal form lost", "ACME GmbH", "ACME", "affix"),
    SingleMistake("last name first", "Jane Doe", "Doe, Jane", "word_order"),
    SingleMistake("initial", "Jane Doe", "J. Doe", "not_in_document"),
    SingleMistake("case", "ACME GmbH", "Acme GmbH", "case"),
    SingleMistake("accent lost", "José García", "Jose Garcia", "marks"),
    SingleMistake("marks", "final offer", "\ufb01nal offer", "marks"),
    SingleMistake("entity of HTML", "AT&T", "AT&amp;T", "markup"),
    SingleMistake("bold of Markdown", "ACME GmbH", "**ACME GmbH**", "markup"),
    SingleMistake("hyphen of a line break", "international", "inter-\nnational", "marks"),
    SingleMistake("text cut off", "Delivery to the main entrance only", "Delivery to the main ent", "truncated"),
    SingleMistake("misspelled", "Guadalajara", "Guadalajarra", "not_in_document"),
    SingleMistake("space lost", "ACME Tools", "ACMETools", "white_space"),
    SingleMistake("comma lost", "ACME, Inc.", "ACME Inc", "marks"),
    SingleMistake("list joined", ["red", "blue"], "red, blue", "wrong_type"),
    SingleMistake("list for a single value", "red", ["red"], "wrong_type"),
    SingleMistake("invented", None, "Net 30 days", "not_in_document"),
    SingleMistake("another name of the document", "ACME GmbH", "Globex Ltd", "other_value", "shipped by Globex Ltd"),
    SingleMistake("not found", "ACME GmbH", None, "missing"),
    SingleMistake("words for nothing", None, "Not mentioned in the document", "placeholder"),
    SingleMistake("brackets of a loss as a minus", "(4,321)", "-4,321", "decimal_separator"),
    SingleMistake("unit converted", "2.5 kg", "2500 g", "not_in_document"),
    SingleMistake("another time zone", "2024-03-15T10:00:00+01:00", "2024-03-15T10:00:00Z", "time_or_zone"),
    SingleMistake("day and month swapped as written", "04/07/2024", "07/04/2024", "day_and_month"),
    SingleMistake("middle name lost", "John Michael Smith", "John Smith", "affix"),
    SingleMistake("Japanese form of address", "山田太郎", "山田太郎様", "affix"),
    SingleMistake("line break of HTML", "Hauptstr. 5 10115 Berlin", "Hauptstr. 5<br>10115 Berlin", "markup"),
    SingleMistake("character without a width", "ACME GmbH", "ACME\u200b GmbH", "white_space"),
    SingleMistake("object for a value", 100.5, {"value": 100.5, "currency": "EUR"}, "wrapped"),
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
    SingleMistake("each row in an object", _ROWS, [{"item": row} for row in _ROWS], "wrapped"),
    SingleMistake(
        "result of a tool call as text",
        {"vendor": "ACME", "total": 12.5},
        {"name": "extract", "arguments": '{"vendor": "ACME", "total": 12.5}'},
        "wrapped",
    ),
    SingleMistake("TEUR", 450000, "TEUR 450", "power_of_ten"),
    SingleMistake("row of nothing", _ROWS, [*_ROWS, dict.fromkeys(_BOLT)], "invented_row"),
    SingleMistake("list joined in a list", ["Python", "Go", "Rust"], ["Python, Go, Rust"], "merged_rows"),
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
    SingleMistake("row twice", _ROWS, [_BOLT, _NUT, _NUT, _GEAR, _CLIP], "duplicated_row"),
    SingleMistake("row lost", _ROWS, [_BOLT, _NUT, _CLIP], "missing_row"),
    SingleMistake(
        "row split at a line break",
        _ROWS,
        [{**_BOLT, "name": "Hexagon"}, dict.fromkeys(_BOLT) | {"name": "bolt"}, _NUT, _GEAR, _CLIP],
        "merged_rows",
    ),
    SingleMistake(
        "total as a row", _ROWS, [*_ROWS, dict.fromkeys(_BOLT) | {"name": "Total", "net": 111.0}], "invented_row"
    ),
    SingleMistake(
        "key renamed", _INVOICE, {"supplier": "ACME GmbH", "number": "RE-2024-118", "total": 1190.5}, "renamed_key"
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
