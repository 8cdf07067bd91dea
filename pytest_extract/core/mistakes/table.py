"""The table of the kinds of mistakes, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.mistakes import dates, numbers, rows, texts
from pytest_extract.core.mistakes.base import MistakeExample, MistakeKind

_BOLT, _NUT, _GEAR = (
    {"name": name, "price": price} for name, price in (("Bolt", 2.5), ("Nut", 10.25), ("Gear", 31.75))
)

_KINDS: Final = (
    # Several fields at once: what they have in common says more than each.
    MistakeKind(
        name="wrapped",
        doc="An object or a value stands under another key, in a list or as JSON in a text, or the object around it is "
        "missing.",
        find=rows.wrapped,
        example=MistakeExample(
            {"vendor": "ACME", "total": 12.5},
            {"result": {"vendor": "ACME", "total": 12.5}},
            "all of it stands under the key `result`",
        ),
    ),
    MistakeKind(
        name="renamed_key",
        doc="A key is written otherwise, in another case, or stands one level higher or deeper.",
        find=rows.renamed_key,
        example=MistakeExample(
            {"vendor": {"name": "ACME"}, "total": 12.5},
            {"vendor_name": "ACME", "total": 12.5},
            "the key `vendor.name` is written `vendor_name`",
        ),
    ),
    MistakeKind(
        name="swapped_fields",
        doc="Two fields, or two columns of a table, have the value of each other.",
        find=rows.swapped_fields,
        example=MistakeExample(
            {"ship_to": "Berlin", "bill_to": "Paris"},
            {"ship_to": "Paris", "bill_to": "Berlin"},
            "`ship_to` and `bill_to` were swapped",
        ),
    ),
    MistakeKind(
        name="merged_rows",
        doc="Rows were merged into one, or a row was split into several.",
        find=rows.merged_rows,
        example=MistakeExample(
            {"items": [_BOLT, _NUT, _GEAR]},
            {"items": [{"name": "Bolt Nut", "price": 2.5}, _GEAR]},
            "rows 0 and 1 were merged into one",
        ),
    ),
    # The same value in another form.
    MistakeKind(
        name="placeholder",
        doc='A text such as "N/A" or "" stands where there is no value, or for the value.',
        compare=numbers.placeholder,
        example=MistakeExample(None, "N/A", "“N/A” stands for no value"),
    ),
    MistakeKind(
        name="wrong_type",
        doc="The value is right, but of another type: a number or a boolean as text, a list of one, a joined list.",
        compare=numbers.wrong_type,
        example=MistakeExample("00123", 123, "a text of digits became a number, and leading zeros were lost"),
    ),
    MistakeKind(
        name="white_space",
        doc="White space inside the value was lost or added.",
        compare=texts.white_space,
        example=MistakeExample("ACME Tools", "ACMETools", "only white space differs"),
    ),
    MistakeKind(
        name="case",
        doc="Only upper and lower case differ.",
        compare=texts.case,
        example=MistakeExample("ACME GmbH", "Acme GmbH", "only the case differs"),
    ),
    MistakeKind(
        name="time_or_zone",
        doc="The time of day or the time zone was lost, added or changed.",
        compare=dates.time_or_zone,
        example=MistakeExample("2024-03-15", "2024-03-15T00:00:00", "the time of day was added"),
    ),
    MistakeKind(
        name="date_format",
        doc="The same day is written in another format.",
        compare=dates.date_format,
        example=MistakeExample("2024-08-02", "August 2, 2024", "the same day in another format"),
    ),
    MistakeKind(
        name="day_and_month",
        doc="Day and month of a date were swapped.",
        compare=dates.day_and_month,
        example=MistakeExample("2024-03-04", "2024-04-03", "day and month were swapped"),
    ),
    MistakeKind(
        name="date_part",
        doc="Only a part of a date was extracted, or more than the gold says.",
        compare=dates.date_part,
        example=MistakeExample("2024-03-15", "2024-03", "only the month was kept"),
    ),
    MistakeKind(
        name="decimal_separator",
        doc="A separator of thousands was taken for a decimal one, or the reverse; the same number, written otherwise.",
        compare=numbers.decimal_separator,
        example=MistakeExample(1234.5, "1.234,50", "the same number, written otherwise"),
    ),
    MistakeKind(
        name="markup",
        doc="Markup of HTML, Markdown or LaTeX, or an entity, was left in the value or lost.",
        compare=texts.markup,
        example=MistakeExample("ACME", "**ACME**", "markup was left in"),
    ),
    MistakeKind(
        name="marks",
        doc="Only diacritics, dashes, quotation marks, ligatures, punctuation or the encoding differ.",
        compare=texts.marks,
        example=MistakeExample("Müller", "Muller", "only diacritics, ligatures, dashes or quotation marks differ"),
    ),
    MistakeKind(
        name="sign",
        doc="A minus was lost or added.",
        compare=numbers.sign,
        example=MistakeExample(-1250, 1250, "the minus was lost"),
    ),
    MistakeKind(
        name="percent_or_fraction",
        doc="A percentage stands for a fraction, or a fraction for a percentage.",
        compare=numbers.percent_or_fraction,
        example=MistakeExample(0.12, "12 %", "100 times the gold: a percentage where the gold has a fraction"),
    ),
    MistakeKind(
        name="power_of_ten",
        doc="The number is 10, 100, 1,000, ... times too large or too small; a scale word was lost.",
        compare=numbers.power_of_ten,
        example=MistakeExample(1234, 123400, "100 times the gold"),
    ),
    # Rows of one side that belong to none of the other.
    MistakeKind(
        name="duplicated_row",
        doc="A row stands twice.",
        find=rows.duplicated_row,
        example=MistakeExample({"items": [_BOLT, _NUT]}, {"items": [_BOLT, _NUT, _BOLT]}, "row 2 is a copy of row 0"),
    ),
    MistakeKind(
        name="missing_row",
        doc="A row is missing, or the list ends too early.",
        find=rows.missing_row,
        example=MistakeExample({"items": [_BOLT, _NUT, _GEAR]}, {"items": [_BOLT, _GEAR]}, "row 1 is missing"),
    ),
    MistakeKind(
        name="invented_row",
        doc="A row is not in the gold, such as the header or the total of a table.",
        find=rows.invented_row,
        example=MistakeExample(
            {"items": [_BOLT, _NUT]},
            {"items": [_BOLT, _NUT, {"name": "Total", "price": 12.75}]},
            "row 2 is a total of the table",
        ),
    ),
    # Another value: the gold and the document are asked before the characters, which are alike by chance.
    MistakeKind(
        name="other_value",
        doc="The value of another field, of another row, or from another place of the document was extracted.",
        find=rows.other_value,
        example=MistakeExample({"total": 1190, "net": 1000}, {"total": 1000, "net": 1000}, "the value of `net`"),
    ),
    MistakeKind(
        name="rounded",
        doc="The number was rounded or cut, or has more digits than the gold.",
        compare=numbers.rounded,
        example=MistakeExample(1234.56, 1235, "rounded"),
    ),
    MistakeKind(
        name="wrong_digits",
        doc="Two digits were swapped, one or two were lost or added, or one was misread.",
        compare=numbers.wrong_digits,
        example=MistakeExample(1109, 1190, "the digits 0 and 9 were swapped"),
    ),
    MistakeKind(
        name="word_order",
        doc="The same words stand in another order, such as last and first name.",
        compare=texts.word_order,
        example=MistakeExample("John Doe", "Doe, John", "the order of first and last name"),
    ),
    MistakeKind(
        name="truncated",
        doc="The end of a text was cut off.",
        compare=texts.truncated,
        example=MistakeExample(
            "Delivery to the main entrance only", "Delivery to the main ent", "cut after 24 of 34 characters"
        ),
    ),
    MistakeKind(
        name="affix",
        doc="A label, a title, a unit, a suffix or words between others were kept or lost, or a unit replaced.",
        compare=texts.affix,
        example=MistakeExample("4711", "Invoice No.: 4711", "“Invoice No.:” before the value was kept"),
    ),
    MistakeKind(
        name="not_in_document",
        doc="The value is not found in the document.",
        find=rows.not_in_document,
        example=MistakeExample(
            {"name": "ACME", "total": 5},
            {"name": "Globex Corporation", "total": 5},
            "not found in the document; the gold's value is",
            document="ACME, total 5",
        ),
    ),
    MistakeKind(
        name="missing",
        doc="Nothing was extracted where the gold has a value.",
        find=rows.missing,
        example=MistakeExample({"vendor": "ACME", "total": 5}, {"total": 5}, "nothing was extracted"),
    ),
    MistakeKind(
        name="invented",
        doc="A value was extracted where the gold has none.",
        find=rows.invented,
        example=MistakeExample({"vendor": None, "total": 5}, {"vendor": "ACME", "total": 5}, "the gold has no value"),
    ),
)
MISTAKE_KINDS: Final[Mapping[str, MistakeKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name -> kind. A failing field gets the name of the first kind that explains it."""
