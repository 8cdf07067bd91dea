"""A run as CSV: one row per compared value, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import FieldResult
from pytest_extract.core.values import MISSING
from pytest_extract.report.findings import metric_label
from pytest_extract.report.render_errors import render_error

COLUMNS: Final = (
    "case", "file", "model", "prompt", "revision", "outcome", "repeat", "path", "pattern", "metric", "status", "score",
    "gold", "extracted", "reason",
)  # fmt: skip

_FORMULA: Final = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - the full-width signs count in some locales
"""What a cell begins with that a spreadsheet takes for a formula."""


def table(results: Sequence[CaseResult]) -> str:
    """Write all leaf results; a case without any (broken, not run) has one row with empty columns.

    Gold and extracted values are JSON, empty where missing. A text that a spreadsheet would take for a formula begins
    with an apostrophe. What cannot be written as UTF-8, or ends a text for others, is spelled out.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        writer.writerows([_cell(value) for value in row] for row in _rows_or_reason(result))
    return out.getvalue()


def _rows_or_reason(result: CaseResult) -> list[tuple[object, ...]]:
    """Return the rows of a case; where it cannot be written, one that says so."""
    try:
        return list(_rows(result))
    except Exception as error:  # noqa: BLE001  # one case that cannot be written must not take the table along
        return [(*_case(result), *[None] * 8, render_error("this case", error))]


def _rows(result: CaseResult) -> Iterator[tuple[object, ...]]:
    case = _case(result)
    told = False
    for attempt in result.attempts:
        for leaf in attempt.score.leaves if attempt.score is not None else ():
            told = True
            yield (*case, attempt.index + 1, *_fields(leaf))
    if not told:
        yield (*case, *[None] * 8, result.why)


def _case(result: CaseResult) -> tuple[object, ...]:
    arm = result.arm
    return result.case_id, result.file, arm.model, arm.prompt, arm.revision, str(result.outcome)


def _fields(item: FieldResult) -> tuple[object, ...]:
    sides = (
        None if side is MISSING else json.dumps(side, default=repr, ensure_ascii=False)
        for side in (item.gold, item.extracted)
    )
    return (str(item.path), item.pattern, metric_label(item), str(item.status), item.score, *sides, item.reason)


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return f"'{text}" if text[:1] in _FORMULA and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
