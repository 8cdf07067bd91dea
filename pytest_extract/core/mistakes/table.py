"""The table of the kinds of mistakes, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_extract.core.mistakes import rows, values
from pytest_extract.core.mistakes.output import MistakeKind

_KINDS: Final = (
    # Several fields at once: what they have in common says more than each.
    rows.wrapped,
    rows.renamed_key,
    rows.swapped_fields,
    rows.merged_rows,
    # The same value in another form.
    values.placeholder,
    values.wrong_type,
    values.white_space,
    values.case,
    values.time_or_zone,
    values.date_format,
    values.day_and_month,
    values.date_part,
    values.decimal_separator,
    values.markup,
    values.marks,
    # Rows of one side that belong to none of the other.
    rows.duplicated_row,
    rows.missing_row,
    rows.invented_row,
    # Another value: the gold and the document are asked before the characters, which are alike by chance.
    rows.other_value,
    values.sign,
    values.percent_or_fraction,
    values.power_of_ten,
    values.rounded,
    values.wrong_digits,
    values.word_order,
    values.truncated,
    values.affix,
    rows.not_in_document,
    rows.missing,
    rows.invented,
)
MISTAKE_KINDS: Final[Mapping[str, MistakeKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name -> kind. A failing field gets the name of the first kind that explains it."""
