"""A run as CSV: one row for each compared value, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_extract.core.aggregate.slices import TAG, Dimension, dimension
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.mistakes import mistakes_by_path
from pytest_extract.core.results import FieldResult, RuleResult, RuleStatus
from pytest_extract.core.values import MISSING
from pytest_extract.report.findings import metric_label
from pytest_extract.report.lines import render_error
from pytest_extract.report.run_report import RunReport

COLUMNS: Final = (
    "case", "file", "model", "prompt", "revision", "outcome", "repeat", "path", "pattern", "metric", "status", "score",
    "gold", "extracted", "reason", "confidence", "mistake", "mode",
)  # fmt: skip

_FORMULA: Final = frozenset("=+-@\t\n＝＋－＠")  # noqa: RUF001 - the full-width signs count in some locales
"""First characters of cells that a spreadsheet takes for formulas."""


def csv_table(run: RunReport) -> str:
    """Write all leaf results; a case without any (broken, not run) has one row with empty columns.

    Each tag or dimension that splits the run is one more column, with the slice of the case or of the value.

    Gold and extracted values are JSON, empty where missing. A text that a spreadsheet would take for a formula begins
    with an apostrophe. Lone surrogates, null characters and carriage returns are escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    dimensions = [each for each in map(dimension, run.by) if each.of_case is not None or each.of_value is not None]
    heads = (f"{TAG}{each.name}" if each.name in COLUMNS else each.name for each in dimensions)
    writer.writerow([*COLUMNS, *map(_csv_cell, heads)])
    for result in run.results:
        writer.writerows([_csv_cell(value) for value in row] for row in _rows_or_reason(result, dimensions))
    return out.getvalue()


def _rows_or_reason(result: CaseResult, by: Sequence[Dimension]) -> list[tuple[object, ...]]:
    """Return the rows of a case; a case that cannot be written has one row with the error."""
    try:
        return list(_case_rows(result, by))
    except Exception as error:  # noqa: BLE001  # one case that cannot be written must not take the table along
        return [(*_case_columns(result), *[None] * 8, render_error("this case", error), *[None] * (3 + len(by)))]


def _case_rows(result: CaseResult, by: Sequence[Dimension]) -> Iterator[tuple[object, ...]]:
    case = _case_columns(result)
    of_case = [None if each.of_case is None else each.of_case(result) for each in by]
    empty = True
    for attempt in result.attempts:
        named = {} if attempt.score is None else mistakes_by_path(attempt.score.mistakes)
        for leaf in attempt.score.leaves if attempt.score is not None else ():
            empty = False
            slices = [
                name if each.of_value is None else each.of_value(result, leaf)
                for each, name in zip(by, of_case, strict=True)
            ]
            yield (
                *case,
                attempt.index + 1,
                *_result_columns(leaf),
                mistake.kind if (mistake := named.get(leaf.path)) else None,
                result.variant.mode,
                *slices,
            )
        for rule in attempt.score.rules if attempt.score is not None else ():
            empty = False
            yield (*case, attempt.index + 1, *_rule_columns(rule), None, result.variant.mode, *of_case)
    if empty:
        yield (*case, *[None] * 8, result.why, None, None, result.variant.mode, *of_case)


def _case_columns(result: CaseResult) -> tuple[object, ...]:
    variant = result.variant
    return (
        result.case_id,
        result.file,
        variant.model or variant.param,
        variant.prompt,
        variant.revision,
        str(result.outcome),
    )


def _result_columns(item: FieldResult) -> tuple[object, ...]:
    sides = (
        None if side is MISSING else json.dumps(side, default=repr, ensure_ascii=False)
        for side in (item.gold, item.extracted)
    )
    check = (str(item.path), item.pattern, metric_label(item), str(item.status), item.score)
    return (*check, *sides, item.reason, item.confidence)


def _rule_columns(rule: RuleResult) -> tuple[object, ...]:
    """Return the columns of a rule across fields: its text is the pattern, both sides as computed are in the reason."""
    score = {RuleStatus.HELD: 1.0, RuleStatus.NOT_APPLICABLE: None}.get(rule.status, 0.0)
    return None, rule.name, "rule", str(rule.status), score, None, None, rule.message, None


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    text = text.replace("\r", "\\r")  # which `csv` of Python 3.11 does not quote
    return f"'{text}" if text[:1] in _FORMULA and not _reads_as_number(text) else text


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
