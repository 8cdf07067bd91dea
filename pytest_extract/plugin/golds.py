"""`--extract-update-gold`: what was extracted becomes the case's gold, in the style of the gold's file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from pytest_extract.cases.gold import update_gold
from pytest_extract.cases.model import Case
from pytest_extract.cases.positions import Steps
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.validate.validator import Validator
from pytest_extract.core.values import MISSING, Json, Missing, canonical_json
from pytest_extract.errors import ExtractError
from pytest_extract.report.lines import Line, Span, line, safe_prose

Kind: TypeAlias = Literal["updated", "unchanged", "kept"]


class GoldChange(NamedTuple):
    """What became of a case's gold, and, where it was kept, why."""

    kind: Kind
    why: str = ""


class Golds:
    """Writes the golds of a run; cases that share one do not overwrite each other's values."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, Steps, int], tuple[str, str]] = {}

    def write(self, case: Case, result: CaseResult) -> GoldChange:
        """Write the first repeat's value into the gold; a value that cannot be used leaves the gold as it is."""
        value = _extracted(result)
        if value is MISSING:
            return GoldChange("kept", "there is no output to take it from")
        problem = Validator(case.schema).first_error(value) if case.gates.schema else None
        if problem is not None:
            return GoldChange("kept", f"the output breaks the schema at {problem.path}: {problem.message}")
        place = os.path.realpath(case.gold_path), case.gold_steps, case.gold_line
        text = canonical_json(value)
        settled, by = self._settled.get(place, (text, result.nodeid))
        if settled != text and by != result.nodeid:
            return GoldChange("kept", f"its gold is that of {by} too, which gave another value; give each its own")
        try:
            kind: Kind = "updated" if update_gold(case, value) else "unchanged"
        except ExtractError as error:
            return GoldChange("kept", str(error))
        self._settled[place] = text, by
        return GoldChange(kind)


def _extracted(result: CaseResult) -> Json | Missing:
    for attempt in result.attempts:
        if attempt.score is not None and attempt.score.readable:
            return parse_output(attempt.output, finish_reason=attempt.finish_reason).value
    return MISSING


def gold_lines(changes: Mapping[str, GoldChange]) -> list[Line]:
    """Tell how many golds were written, and which were kept and why."""
    if not changes:
        return []
    counts = Counter(change.kind for change in changes.values())
    lines = [line("golds: ", ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common()))]
    for nodeid, change in changes.items():
        if change.kind == "kept":
            lines.append(line(Span(f"{safe_prose(nodeid)}: {safe_prose(change.why)}", "warn"), indent=2))
    return lines
