"""`--extract-update-gold`: extracted values become part of the case's gold, in the style of the gold's file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.edit import GoldReview, gold_lines_of, review_name, update_gold, write_review
from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import Steps
from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome
from pytest_extract.core.results import Gates, ScoreRecord, is_covered
from pytest_extract.core.values import MISSING, Json, canonical_json, path_text
from pytest_extract.core.words import listed, plural
from pytest_extract.documents import DocumentError
from pytest_extract.documents.evidence import more_rows
from pytest_extract.errors import ExtractError
from pytest_extract.files import display_path
from pytest_extract.golds.changes import (
    GoldEdit,
    GoldProposal,
    MovedRow,
    UpdateMode,
    accept_labels,
    draft_gold,
    follow_row,
    output_value,
    propose,
    same_gold,
)
from pytest_extract.redact import Owned, current, withheld
from pytest_extract.report.findings import place_in, stands_exactly
from pytest_extract.report.lines import Line, Span, first_difference, line, safe_prose, show, told

GoldChangeKind: TypeAlias = Literal["updated", "unchanged", "kept", "drafted", "undrafted"]
_WIDTH: Final = 200
"""Characters of a value that are shown; of a longer text, those around the first that changed."""


class GoldChange(NamedTuple):
    """Whether a case's gold was updated, and, where it was kept, why.

    A gold that was not there is `drafted` from outputs of the case, or `undrafted`, as none of them can be used.

    Its file, its position there (`steps`, and the line of a dataset), the changed values, and the values that were kept
    although they fail, because the document has them and not those of the output. Of a written draft, `why` says what
    it is made of, `open` is the number of values to decide, `rows` a sentence for each list that may lack some.
    """

    kind: GoldChangeKind
    why: str = ""
    path: str = ""
    steps: Sequence[str | int] = ()
    first_line: int = 1
    edits: Sequence[GoldEdit] = ()
    kept: Sequence[GoldEdit] = ()
    open: int = 0
    rows: Sequence[str] = ()

    @property
    def is_draft(self) -> bool:
        """Whether the case had no gold."""
        return self.kind in {"drafted", "undrafted"}

    @property
    def needs_review(self) -> bool:
        """Whether nobody has reviewed the gold yet: its case fails."""
        return self.kind not in {"kept", "unchanged"}

    def failed(self, result: CaseResult) -> CaseResult:
        """Return the result of its case where that needs review: it fails, as an output cannot be its own reference."""
        message = f"its gold is {self.why}"
        if self.kind == "drafted":
            message = "its gold is drafted from this output: review it with `pytest-extract review`"
        elif self.kind == "updated":
            review = "review the change, and run without --extract-update-gold"
            message = f"its gold was updated from this output ({plural(len(self.edits), 'value')}): {review}"
        outcome = Outcome.FAILED if result.outcome is Outcome.PASSED else result.outcome
        breaches = (Breach(what="gold", message=message), *result.breaches)
        return replace(result, outcome=outcome, breaches=breaches, why=result.why or message)


class GoldWriter:
    """Writes the golds of a run; cases that share one do not overwrite each other's values.

    A gold that is not there is drafted from all outputs of the run, at its end (`write_drafts`).

    `changes`: by node id; of a gold that was not there, by its path.

    `mode`: what of an output becomes gold. `force`: an output that the coverage gate fails may become gold, and a value
    that the document contradicts. That gate compares with the gold itself; the others are about the output alone, and
    no output that fails one becomes gold.
    """

    def __init__(self, mode: UpdateMode, *, force: bool = False) -> None:
        self._mode = mode
        self._force = force
        self._written: dict[tuple[str, Steps, int], tuple[str, str]] = {}  # the value, and the case that gave it first
        self._outputs: dict[Path, tuple[Case, dict[str, Json]]] = {}
        self.changes: dict[str, GoldChange] = {}

    def write(
        self, case: Case, result: CaseResult, owned: Owned | None, *, several: bool, cases: Iterable[Case]
    ) -> GoldChange:
        """Change a case's gold by the first repeat that can be used; keep and return what has become of it.

        `several`: the case has several variants, which only drafts can have. `cases`: those of the run, of which some
        may share the gold.
        """
        usable: list[tuple[Attempt, ScoreRecord]] = []
        problem = ""
        for attempt in result.attempts:
            if attempt.score is None:
                continue
            failure = self._gate_failure(case, attempt.score.gates)
            if failure is None:
                usable.append((attempt, attempt.score))
            problem = problem or failure or ""
        if not usable:
            why = problem or result.why or "there is no output to take it from"
            change = GoldChange("kept", why)
            if case.gold_is_missing:
                change = GoldChange("undrafted", f"not drafted: {why}", str(case.gold_path))
        elif case.gold_is_missing:
            change = self._collect(case, result, [attempt for attempt, _ in usable], owned)
        elif several:
            why = "several variants are not to change it: name one model, or leave the extractor's params out"
            change = GoldChange("kept", f"its gold is there, and {why}")
        else:
            # Where the extractor is known to be wrong, or has to leave a field empty, the gold never changes.
            fixed = [known.path for known in case.known_failures]
            fixed += [place for place, rule in case.absent.items() if rule == "must"]
            attempt, score = usable[0]
            proposal = propose(
                case.gold,
                output_value(case, attempt),
                score,
                mode=self._mode,
                locate=partial(place_in, case.document),
                force=self._force,
                excluded=lambda leaf: is_covered(leaf, fixed),
            )
            change = self._write(case, result.nodeid, proposal, owned, cases)
        if change.kind != "undrafted":
            self.changes[change.path if change.is_draft else result.nodeid] = change
        else:
            self.changes.setdefault(change.path, change)  # another variant may give the draft
        return change

    def _write(
        self, case: Case, nodeid: str, proposal: GoldProposal, owned: Owned | None, cases: Iterable[Case]
    ) -> GoldChange:
        refusal = withheld(proposal.value, owned)
        if refusal is not None:
            return GoldChange("kept", refusal)
        place = os.path.realpath(case.gold_path), case.gold_steps, case.gold_line
        text = canonical_json(proposal.value)
        before, first = self._written.get(place, (text, nodeid))
        if before != text and first != nodeid:
            return GoldChange("kept", f"its gold is that of {first} too, which gave another value; give each its own")
        try:
            changed = update_gold(case, proposal.value, proposal.removed)
            # A rerun removes the same rows of the gold as collected.
            if proposal.removed and changed and place not in self._written:
                sharing = [case, *(other for other in cases if same_gold(other, case))]
                for *array, index in proposal.removed:
                    follow_row(sharing, MovedRow(tuple(array), int(index), None))
        except ExtractError as error:
            return GoldChange("kept", str(error))
        self._written[place] = text, first
        # Also where a rerun of the case finds what it wrote before: what differs from the gold as collected.
        edits = proposal.edits if first == nodeid else ()
        kind: GoldChangeKind = "updated" if edits else "unchanged"
        return GoldChange(kind, "", str(case.gold_path), case.gold_steps, case.gold_line, edits, proposal.kept)

    def _collect(self, case: Case, result: CaseResult, usable: Sequence[Attempt], owned: Owned | None) -> GoldChange:
        """Keep the outputs of a case whose gold is to be drafted."""
        place = Path(os.path.realpath(case.gold_path))
        first, outputs = self._outputs.setdefault(place, (case, {}))
        if first.id != case.id or first.path != case.path:
            return GoldChange("kept", f"its gold is that of {first.id} too; give each its own")
        name = result.variant.label or "output"
        for attempt in usable:
            value = output_value(case, attempt)
            refusal = withheld(value, owned)
            if refusal is not None:
                return GoldChange("kept", refusal)
            outputs[name if len(result.attempts) == 1 else f"{name} #{attempt.index + 1}"] = value
        return GoldChange("drafted", "", str(case.gold_path))

    def write_drafts(self) -> None:
        """Write the golds that were not there, each with its review; in the order of their files."""
        pending = [self._outputs[place] for place in sorted(self._outputs) if self._outputs[place][1]]
        drafts = [
            draft_gold(case.scorer, outputs, partial(place_in, document), is_exact=partial(stands_exactly, document))
            for case, outputs in pending
            for document in [case.document]
        ]
        for (case, _), draft in zip(pending, accept_labels(drafts), strict=True):
            fields = {str(path): each for path, each in draft.open.items()}
            review = GoldReview(reviewed=False, sources=draft.sources, agreed=draft.agreed, open=fields)
            path = str(case.gold_path)
            left = f"{len(fields):,} to decide: {listed([*fields])}" if fields else "nothing to decide"
            made_of = f"draft of {plural(len(draft.sources), 'output')}: {plural(draft.agreed, 'value')} agreed, {left}"
            rows: list[str] = []
            try:
                write_review(case.gold_path, review_name(case.gold_steps, case.gold_line, case.id), review)
                update_gold(case, draft.value)
                with suppress(DocumentError):  # a scan shows no rows
                    rows = [f"{place} {text}" for place, text in more_rows(case.document, draft.value)]
                self.changes[path] = GoldChange("drafted", made_of, path, open=len(fields), rows=rows)
            except ExtractError as error:
                self.changes[path] = GoldChange("undrafted", f"not drafted: {error}", path)
            case.document.release()

    def _gate_failure(self, case: Case, gates: Gates) -> str | None:
        """Return what keeps an output from becoming gold; root and coverage compare it with a gold, if there is one."""
        if not gates.parse.passed:
            return f"there is no output to take it from: {gates.parse.why}"
        compares = not case.gold_is_missing
        for gate in (gates.root, gates.schema) if compares else (gates.schema,):
            if not gate.passed:
                return f"the output fails the {gate.name} gate: {gate.why}"
        if compares and not gates.coverage.passed and not self._force:
            return f"the output fails the coverage gate: {gates.coverage.why}; take it with --extract-force"
        return None


def gold_lines(changes: Mapping[str, GoldChange], root: Path) -> list[Line]:
    """Return how many golds were written, each draft and changed value, and what was not written and why."""
    counts = Counter(change.kind for change in changes.values())
    head = "golds: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
    if counts["drafted"]:
        open_values = sum(change.open for change in changes.values())
        head += f" ({plural(open_values, 'value')} to decide; next: pytest-extract review)"
    lines = [told(head, "warn" if any(change.needs_review for change in changes.values()) else "plain")]
    for nodeid, change in changes.items():
        name = display_path(Path(change.path), root) if change.is_draft else nodeid
        if change.why:
            lines.append(told(f"{name}: {change.why}", "plain" if change.kind == "drafted" else "warn", indent=2))
        lines += [told(text, "warn", indent=4) for text in change.rows]
        lines += _edit_lines(change, root)
    if counts["undrafted"]:
        text = "fix the schema or the extractor and draft again (a gold that is there stays), or write the gold by hand"
        lines.append(told(text, indent=2))
    return lines


def _edit_lines(change: GoldChange, root: Path) -> Iterator[Line]:
    """Yield each value that changed, and each that fails and was kept, with its line in the file as it is now."""
    edits = [*change.edits, *change.kept]
    if not edits:
        return
    path = Path(change.path)
    paths = [(*change.steps, *edit.steps) for edit in edits]
    numbers = gold_lines_of(path, change.first_line, paths)
    shown = display_path(path, root)
    for index, (edit, number) in enumerate(zip(edits, numbers, strict=True)):
        before, after = (side[0] if side else MISSING for side in (edit.old, edit.new))
        at = first_difference(before, after) if isinstance(before, str) and isinstance(after, str) else 0
        old, new = (current().without(show(side, _WIDTH, at=at)).value for side in (before, after))
        where = safe_prose(f"{shown}:{number}: {path_text(tuple(edit.steps))}: ")
        evidence = f" ({safe_prose(edit.evidence)})" if edit.evidence else ""
        if index < len(change.edits):
            yield line(where, Span(old, "bad"), " -> ", Span(new, "good"), evidence, indent=2)
        else:
            yield line(where, Span("kept ", "warn"), old, ", not ", new, evidence, indent=2)
