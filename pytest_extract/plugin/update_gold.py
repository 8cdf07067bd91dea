"""`--extract-update-gold`: the extracted value becomes the case's gold, in the style of the gold's file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.gold import gold_lines_of, update_gold
from pytest_extract.cases.model import Case
from pytest_extract.cases.source_position import Steps
from pytest_extract.core.case_result import Breach, CaseResult, Outcome
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.results import Gates
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, canonical_json, iter_leaves, path_text
from pytest_extract.errors import ExtractError
from pytest_extract.redact.secrets import Owned, current, withheld
from pytest_extract.report.lines import Line, Span, line, plural, safe_prose
from pytest_extract.report.value_diff import first_difference
from pytest_extract.report.values import show

GoldChangeKind: TypeAlias = Literal["updated", "unchanged", "kept"]
_WIDTH: Final = 200
"""Characters of a value that are shown; of a longer text, those around the first that changed."""


class GoldEdit(NamedTuple):
    """A value of a gold that changed, at `steps` of the gold; a side is empty where the value is absent.

    Of builtins only: pytest's report carries it.
    """

    steps: Sequence[str | int]
    old: Sequence[Json]
    new: Sequence[Json]


class GoldChange(NamedTuple):
    """Whether a case's gold was updated, and, where it was kept, why.

    Of an updated gold: its file, its position there (`steps`, and the line of a dataset), and the changed values.
    """

    kind: GoldChangeKind
    why: str = ""
    path: str = ""
    steps: Sequence[str | int] = ()
    first_line: int = 1
    edits: Sequence[GoldEdit] = ()


class _WrittenGold(NamedTuple):
    """The value written to a gold in this run, the case that it comes from, and whether the file changed."""

    text: str
    nodeid: str
    changed: bool


class GoldWriter:
    """Writes the golds of a run; cases that share one do not overwrite each other's values.

    `force`: an output that the coverage gate fails may become gold. That gate compares with the gold itself; the others
    are about the output alone, and no output that fails one becomes gold.
    """

    def __init__(self, *, force: bool = False) -> None:
        self._force = force
        self._written: dict[tuple[str, Steps, int], _WrittenGold] = {}

    def write(self, case: Case, result: CaseResult, owned: Owned | None = None) -> GoldChange:
        """Write the first repeat's value into the gold; a value that cannot be used leaves the gold as it is."""
        value, problem = self._usable_value(result)
        if problem is not None:
            return GoldChange("kept", problem)
        refusal = withheld(value, owned)
        if refusal is not None:
            return GoldChange("kept", refusal)
        place = os.path.realpath(case.gold_path), case.gold_steps, case.gold_line
        text = canonical_json(value)
        before = self._written.get(place, _WrittenGold(text, result.nodeid, changed=False))
        if before.text != text and before.nodeid != result.nodeid:
            return GoldChange(
                "kept", f"its gold is that of {before.nodeid} too, which gave another value; give each its own"
            )
        try:
            changed = update_gold(case, value)
        except ExtractError as error:
            return GoldChange("kept", str(error))
        # A rerun of the case finds what it wrote before: what it changed is what differs from the gold as collected.
        changed = changed or (before.changed and before.nodeid == result.nodeid)
        self._written[place] = _WrittenGold(text, before.nodeid, changed=changed or before.changed)
        edits = list(changed_values(case.gold, value)) if changed else []
        if not edits:
            return GoldChange("unchanged")
        return GoldChange("updated", "", str(case.gold_path), case.gold_steps, case.gold_line, edits)

    def _usable_value(self, result: CaseResult) -> tuple[Json | Missing, str | None]:
        """Return the value of the first repeat that passes all gates; else the problem of the first output."""
        problem = None
        for attempt in result.attempts:
            if attempt.score is None:
                continue
            failure = self._gate_failure(attempt.score.gates)
            if failure is None:
                return parse_output(attempt.output, finish_reason=attempt.finish_reason).value, None
            problem = problem or failure
        return MISSING, problem or "there is no output to take it from"

    def _gate_failure(self, gates: Gates) -> str | None:
        if not gates.parse.passed:
            return f"there is no output to take it from: {gates.parse.why}"
        for gate in (gates.root, gates.schema):
            if not gate.passed:
                return f"the output fails the {gate.name} gate: {gate.why}"
        if not gates.coverage.passed and not self._force:
            return (
                f"the output fails the coverage gate: {gates.coverage.why}; take it all the same with --extract-force"
            )
        return None


def changed_values(old: Json, new: Json, steps: Steps = ()) -> Iterator[GoldEdit]:
    """Yield every value that differs; a container on one side only is reported value by value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _changed_values_at(old, new, key, (*steps, key), key in old, key in new)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            yield from _changed_values_at(old, new, index, (*steps, index), index < len(old), index < len(new))
    elif canonical_json(old) != canonical_json(new):
        yield GoldEdit(steps, [old], [new])


def _changed_values_at(old: Any, new: Any, key: Any, steps: Steps, in_old: bool, in_new: bool) -> Iterator[GoldEdit]:  # noqa: FBT001
    if in_old and in_new:
        yield from changed_values(old[key], new[key], steps)
        return
    value = old[key] if in_old else new[key]
    leaves = list(iter_leaves(value, steps)) or [(FieldPath(steps), value)]
    for path, leaf in leaves:
        yield GoldEdit(tuple(path), [leaf] if in_old else [], [] if in_old else [leaf])


def failed_for_new_gold(result: CaseResult, change: GoldChange) -> CaseResult:
    """Return the result of a case whose gold was updated: it fails, as its output cannot be its own reference."""
    edits = plural(len(change.edits), "value")
    message = (
        f"its gold was updated from this output ({edits}): review the change, and run without --extract-update-gold"
    )
    outcome = Outcome.FAILED if result.outcome is Outcome.PASSED else result.outcome
    breach = Breach(what="gold", message=message)
    return replace(result, outcome=outcome, breaches=(breach, *result.breaches), why=result.why or message)


def gold_lines(changes: Mapping[str, GoldChange], root: Path) -> list[Line]:
    """Return how many golds were written, each changed value with its position, and which were kept and why."""
    if not changes:
        return []
    counts = Counter(change.kind for change in changes.values())
    head = "golds: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
    lines = [line(Span(head, "warn") if counts["updated"] else head)]
    for nodeid, change in changes.items():
        if change.kind == "kept":
            lines.append(line(Span(f"{safe_prose(nodeid)}: {safe_prose(change.why)}", "warn"), indent=2))
        elif change.kind == "updated":
            lines += _edit_lines(change, root)
    return lines


def _edit_lines(change: GoldChange, root: Path) -> Iterator[Line]:
    edits = [GoldEdit(*edit) for edit in change.edits]
    path = Path(change.path)
    paths = [(*change.steps, *edit.steps) for edit in edits]
    numbers = gold_lines_of(path, tuple(change.steps), change.first_line, paths)
    shown = os.path.relpath(path, root) if path.is_relative_to(root) else str(path)
    for edit, number in zip(edits, numbers, strict=True):
        before, after = (side[0] if side else MISSING for side in (edit.old, edit.new))
        at = first_difference(before, after) if isinstance(before, str) and isinstance(after, str) else 0
        old, new = (current().without(show(side, _WIDTH, at=at)).value for side in (before, after))
        where = safe_prose(f"{shown}:{number}: {path_text(tuple(edit.steps))}: ")
        yield line(where, Span(old, "bad"), " -> ", Span(new, "good"), indent=2)
