"""The table of the kinds of mistakes, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.mistakes import dates, numbers, rows, texts
from pytest_extract.core.mistakes.output import MistakeKind

_KINDS: Final = (
    # Several fields at once: what they have in common says more than each.
    rows.wrapped,
    rows.renamed_key,
    rows.swapped_fields,
    rows.merged_rows,
    # The same value in another form.
    numbers.placeholder,
    numbers.wrong_type,
    texts.white_space,
    texts.case,
    dates.time_or_zone,
    dates.date_format,
    dates.day_and_month,
    dates.date_part,
    numbers.decimal_separator,
    texts.markup,
    texts.marks,
    # Rows of one side that belong to none of the other.
    rows.duplicated_row,
    rows.missing_row,
    rows.invented_row,
    # Another value: the gold and the document are asked before the characters, which are alike by chance.
    rows.other_value,
    numbers.sign,
    numbers.percent_or_fraction,
    numbers.power_of_ten,
    numbers.rounded,
    numbers.wrong_digits,
    texts.word_order,
    texts.truncated,
    texts.affix,
    rows.not_in_document,
    rows.missing,
    rows.invented,
)
MISTAKE_KINDS: Final[Mapping[str, MistakeKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name -> kind. A failing field gets the name of the first kind that explains it."""
