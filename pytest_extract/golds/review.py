"""Review of golds: what people have to decide, and decisions, each written at once to that place of the gold alone."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.edit import (
    Candidate,
    FieldDecision,
    GoldReview,
    OpenField,
    add_accepted,
    change_reviews,
    read_gold,
    review_path,
    update_gold,
)
from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import Steps
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.results import Status, is_covered
from pytest_extract.core.scorer import Scorer
from pytest_extract.core.validate import Validator
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    iter_leaves,
    path_text,
    replaced,
    value_at,
)
from pytest_extract.core.words import plural
from pytest_extract.errors import ExtractError
from pytest_extract.files import display_path, write_bytes_atomic
from pytest_extract.golds.changes import (
    MovedRow,
    changes_of,
    follow_row,
    gold_name,
    output_value,
    place_of,
    review_of,
    same_gold,
)
from pytest_extract.report.findings import place_in
from pytest_extract.report.lines import safe_controls, show
from pytest_extract.run_case import digests_of

Action: TypeAlias = Literal["accept", "keep", "also", "edit", "absent", "dispute"]
ACTIONS: Final[tuple[Action, ...]] = ("accept", "keep", "also", "edit", "absent", "dispute")
WHOLE_DRAFT: Final = "the rest of the draft"
_DONE: Final[Mapping[Action, str]] = MappingProxyType(
    {"accept": "accepted", "keep": "kept", "also": "accepted beside the gold", "edit": "edited", "absent": "absent"}
)
_WIDTH: Final = 120
_ROW_WIDTH: Final = 40
_MOST_TOLD: Final = 3
"""Values that name a row."""
DISPUTED: Final = "disputed by a reviewer"
_DISAGREE: Final = "two reviewers disagree"


class ReviewError(ExtractError):
    """A decision that cannot be written; nothing has changed."""


@dataclass(slots=True)
class ReviewItem:
    """One thing to decide: a field of a case's gold, why, and the values that are proposed, the likeliest first.

    path: the place in the gold. `is_rest`: the values of a draft on which all outputs agree, to be accepted together.
    `done`: what was decided, if it was; `gone`: by that, the row that the path names is no longer there.
    """

    case: Case
    path: FieldPath
    why: str
    candidates: tuple[Candidate, ...] = ()
    is_rest: bool = False
    done: str = ""
    gone: bool = False

    @property
    def name(self) -> str:
        """The case, by its file and id."""
        return f"{display_path(self.case.path.absolute(), Path.cwd())}::{self.case.id}"

    @property
    def field(self) -> str:
        """The place in the gold."""
        return WHOLE_DRAFT if self.is_rest else str(self.path)

    @property
    def title(self) -> str:
        """The case and the field."""
        return f"{self.name}  {self.field}"


def open_items(cases: Sequence[Case]) -> Iterator[ReviewItem]:
    """Yield what is open in the reviews of golds; of a draft, all agreed values together at its end."""
    firsts: dict[tuple[Path, str], Case] = {}
    for case in cases:
        firsts.setdefault((case.gold_path.resolve(), gold_name(case)), case)
    for case in firsts.values():
        review = review_of(case)
        for text, found in review.open.items():
            yield ReviewItem(case, FieldPath.parse(text), found.why, found.candidates)
        if not review.reviewed and (review.sources or not review.open):
            outputs = plural(len(review.sources), "output")
            why = f"{plural(review.agreed, 'value')} on which {outputs} agree: accept, and the gold is reviewed"
            yield ReviewItem(case, FieldPath(), why, is_rest=True)


def merged_items(items: Iterable[ReviewItem]) -> list[ReviewItem]:
    """Return the items with those of one place as one, which has the candidates of all."""
    found: dict[tuple[Path, Steps, int, FieldPath, bool], ReviewItem] = {}
    for item in items:
        case = item.case
        first = found.setdefault((case.gold_path, case.gold_steps, case.gold_line, item.path, item.is_rest), item)
        if first is item:
            continue
        first.why = first.why if item.why in first.why else f"{first.why}; {item.why}"
        candidates: dict[str, Candidate] = {}
        for each in (*first.candidates, *item.candidates):
            text = "" if each.value is MISSING else canonical_json(each.value)
            same = candidates.get(text, each)
            candidates[text] = replace(same, sources=tuple(dict.fromkeys((*same.sources, *each.sources))))
        first.candidates = tuple(candidates.values())
    return [*found.values()]


def failing_items(
    cases: Sequence[Case], results: Iterable[CaseResult], notes: list[str], root: Path
) -> Iterator[ReviewItem]:
    """Yield the failing fields of a run, the output's value first; what cannot be reviewed is noted.

    That is a case whose gold or document has changed since, and one that is not among `cases`. Results name its file
    from `root`, the rootdir of their run.
    """
    by_name = {(_file_text(case.path), case.id): case for case in cases}
    for result in results:
        if result.altered:  # its gold is that of the plain case, changed
            continue
        found = by_name.get((_file_text(root / result.file), result.case_id))
        why: str | None = (
            f"no such case among those given; give {result.file} too, and review in the rootdir of that run"
        )
        if found is not None:
            now = digests_of(found)
            changed = next((each for each in ("document", "gold") if result.digests.get(each) != now[each]), None)
            why = changed and f"the {changed} has changed since the run; run it again"
        if found is None or why:
            if result.outcome is not Outcome.PASSED:
                notes.append(f"{result.nodeid}: {why}")
            continue
        locate = partial(place_in, found.document)
        for attempt in result.attempts:
            if attempt.score is None or not attempt.score.readable:
                continue
            known = partial(is_covered, places=tuple(result.known))
            output = output_value(found, attempt)
            source = result.variant.label or "output"
            source = source if len(result.attempts) == 1 else f"{source} #{attempt.index + 1}"
            for change in changes_of(found.gold, output, attempt.score, excluded=known):
                candidates = tuple(
                    Candidate(value=side, sources=(by,), evidence=place_of(side, locate))
                    for side, by in ((change.new, source), (change.old, "gold"))
                )
                row_text = "row to add" if change.old is MISSING else "row to remove"
                why = row_text if change.is_row else "fails in the run"
                yield ReviewItem(found, FieldPath(change.steps), why, candidates)


def _file_text(path: Path) -> str:
    """Return a path as results name files, but whole."""
    return safe_controls(Path(os.path.normpath(path.absolute())).as_posix())


class _Decided(NamedTuple):
    """A decision that can be undone: the files with their bytes before and after, and the items as they were."""

    item: ReviewItem
    files: Mapping[Path, tuple[bytes | None, bytes | None]]
    items: Sequence[tuple[ReviewItem, FieldPath, str, bool]]


@dataclass(slots=True)
class Reviewer:
    """Writes decisions; `by` says who decides. What names rows of a gold that a decision moves is changed with it.

    `cases`: all that may share the golds of the items, as their keys name rows, too.
    """

    by: str
    items: list[ReviewItem]
    cases: Sequence[Case] = ()
    _decided: list[_Decided] = field(default_factory=list)

    def decide(self, item: ReviewItem, action: Action, *, choice: int = 0, value: Json = None) -> str:
        """Write a decision, and return what was done in a few words. Raises ReviewError, CaseFileError, StoreError.

        accept: candidate number `choice` becomes the value; keep: the gold stays; also: the candidate is a further
        right value beside the gold's (`accept` of the case); edit: `value`; absent: the key or row is removed; dispute:
        the field stays open.
        """
        if item.gone:
            raise ReviewError("this row is removed: undo that before you decide anew")
        files = [case.path for case in self._cases_of(item)]
        before = {path: _bytes_of(path) for path in (item.case.gold_path, review_path(item.case.gold_path), *files)}
        items = [(other, other.path, other.done, other.gone) for other in self.items]
        item.done = self._decide(item, action, choice, value)
        changed = {path: (old, new) for path, old in before.items() if (new := _bytes_of(path)) != old}
        self._decided.append(_Decided(item, changed, items))
        return item.done

    def _cases_of(self, item: ReviewItem) -> list[Case]:
        """Return the cases that have the gold of an item, its own first."""
        others = {(case.path, case.id): case for case in (*self.cases, *(other.case for other in self.items))}
        others.pop((item.case.path, item.case.id), None)
        return [item.case, *(case for case in others.values() if same_gold(case, item.case))]

    def undo(self) -> ReviewItem:
        """Take the last decision back, and return its item. Raises ReviewError, StoreError where that is impossible."""
        if not self._decided:
            raise ReviewError("there is nothing to undo")
        last = self._decided[-1]
        for path, (_, after) in last.files.items():
            if _bytes_of(path) != after:
                raise ReviewError(f"{path} has changed since that decision: take it back by hand")
        for path, (before, _) in last.files.items():
            if before is None:
                path.unlink()
            else:
                write_bytes_atomic(path, methodcaller("write", before))
        for item, place, done, gone in last.items:
            item.path, item.done, item.gone = place, done, gone
        self._decided.pop()
        return last.item

    def _decide(self, item: ReviewItem, action: Action, choice: int, value: Json) -> str:
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        decision = FieldDecision(decision=action, by=self.by, at=now)
        if item.is_rest:
            if action not in ("accept", "keep"):
                raise ReviewError("the rest of a draft can only be accepted; decide single fields by their own items")
            others = (other for other in self.items if other is not item and same_gold(other.case, item.case))
            if not all(other.done for other in others):
                raise ReviewError("fields of this gold are still open: decide them first")
            done = "reviewed"
        elif action == "dispute":
            done = "disputed"
        else:
            done = self._settle(item, action, choice, value)

        def decided(review: GoldReview) -> GoldReview:
            """Return the review of the gold, or of a case's part of it, with the decision."""
            place = str(item.path)  # of a row that was added: where it stands now
            if item.is_rest:
                accepted = replace(decision, decision="accept")
                return replace(review, reviewed=True, decisions={**review.decisions, "$": accepted})
            if action == "dispute":
                disputed = OpenField(why=DISPUTED, candidates=item.candidates)
                return replace(review, reviewed=False, open={**review.open, place: disputed})
            if item.gone:  # what is known of that place now is about the row behind it
                review = replace(review, decisions={place: decision, **review.decisions})
            else:
                still_open = {name: each for name, each in review.open.items() if name != place}
                review = replace(review, open=still_open, decisions={**review.decisions, place: decision})
            is_only_disputed = not review.sources  # so nobody has to accept the rest of a draft
            return replace(review, reviewed=review.reviewed or (is_only_disputed and not review.open))

        change_reviews(item.case.gold_path, map(gold_name, self._cases_of(item)), decided)
        return done

    def _settle(self, item: ReviewItem, action: Action, choice: int, value: Json) -> str:
        """Write the value that is decided on, and say what was done.

        A row that is removed, or added behind the gold's rows, moves what names rows behind it.
        """
        if action == "keep":
            return _DONE[action]
        new: Json | Missing = value if action == "edit" else MISSING
        if action in ("accept", "also"):
            if not 0 <= choice < len(item.candidates):
                raise ReviewError(f"there is no candidate {choice + 1}")
            new = item.candidates[choice].value
        if action == "also":
            if new is MISSING:
                raise ReviewError("`absent: {field: either}` in the case accepts that nothing is there")
            add_accepted(item.case, str(item.path), new)
            return _DONE[action]
        gold, path = read_gold(item.case), tuple(item.path)
        changed, row = _changed(gold, path, new)
        problem = new_violation(item.case, gold, changed)
        if problem is not None:
            raise ReviewError(f"the schema does not allow it: {problem}")
        update_gold(item.case, changed, [path] if row is not None and row.new is None else ())
        if row is not None:
            follow_row(self._cases_of(item), row)
        for other in self.items:
            if row is None or other.gone or not same_gold(other.case, item.case):
                continue
            moved = row.path(tuple(other.path))
            if moved is not None:
                other.path = FieldPath(moved)
                continue
            other.gone = True  # with the row that it is inside of
            if other is not item:
                other.done = "gone with its row"
        return f"{_DONE[action]}: {show(value_at(gold, path), _WIDTH)} -> {show(new, _WIDTH)}"


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReviewError(f"{path}: cannot be read: {error.strerror}") from error


class GoldValue(NamedTuple):
    """One value of a gold, as a reviewer sees it; `state`: of what its item or the draft says of it.

    `item`: number of the item that is about it or about what it is part of, None where there is none.
    """

    path: FieldPath
    value: Json
    state: Literal["open", "decided", "agreed", ""]
    item: int | None = None


def gold_values(reviewer: Reviewer, item: ReviewItem) -> list[GoldValue]:
    """Return every value of the gold of an item, in the order of the file. Raises CaseFileError, StoreError."""
    items = {
        tuple(other.path): number
        for number, other in enumerate(reviewer.items)
        if not other.is_rest and not other.gone and same_gold(other.case, item.case)
    }
    drafted = not review_of(item.case).reviewed
    lines: list[GoldValue] = []
    for path, value in iter_leaves(read_gold(item.case), empty_lists=True):
        number = next((items[path[:end]] for end in range(len(path), -1, -1) if path[:end] in items), None)
        state: Literal["open", "decided", "agreed", ""] = "agreed" if drafted else ""
        if number is not None:
            state = "decided" if reviewer.items[number].done else "open"
        lines.append(GoldValue(path, value, state, number))
    return lines


def row_text(gold: Json, path: FieldPath) -> str:
    """Say which row a path leads through: `lenders[13]: name "Bank of X", amount 5`; "" where it leads through none."""
    steps = tuple(path)
    at = max((index for index, step in enumerate(steps) if isinstance(step, int)), default=None)
    row = MISSING if at is None else value_at(gold, steps[: at + 1])
    if not isinstance(row, dict):
        return ""
    known = [(name, value) for name, value in row.items() if isinstance(value, str | int | float) and value != ""]
    told = ", ".join(f"{name} {show(value, _ROW_WIDTH)}" for name, value in known[:_MOST_TOLD])
    return f"{path_text(steps[: (at or 0) + 1])}: {told}" if told else ""


def _changed(gold: Json, path: Steps, new: Json | Missing) -> tuple[Json, MovedRow | None]:
    """Return a gold with another value, and the row that is gone, or stands elsewhere: behind the rows that are there.

    Raises ReviewError where the gold has no longer the row that the place is in.
    """
    if any(isinstance(step, int) and value_at(gold, path[: at + 1]) is MISSING for at, step in enumerate(path[:-1])):
        raise ReviewError(f"{path_text(path)}: the gold has no such row any more; start the review again")
    row = path[-1] if path else None
    if not isinstance(row, int):
        return replaced(gold, path, new), None
    array = path[:-1]
    rows = value_at(gold, array)
    size = len(rows) if isinstance(rows, list) else 0
    if new is MISSING:
        return (replaced(gold, path, new), MovedRow(array, row, None)) if row < size else (gold, None)
    return replaced(gold, (*array, min(row, size)), new), MovedRow(array, row, size) if row > size else None


def new_violation(case: Case, old: Json, new: Json) -> str | None:
    """Say which violation of the schema a changed gold has that it had not before; None where there is none."""
    validator = Validator(case.schema)
    if not case.gates.schema or validator.problem is not None or validator.is_valid(new):
        return None
    before = {str(error) for error in validator.errors(old, limit=1_000)}
    return next((str(error) for error in validator.errors(new, limit=1_000) if str(error) not in before), None)


def read_typed(text: str, case: Case, path: FieldPath, gold: Json) -> Json:
    """Read what a reviewer typed: JSON where it is JSON that the schema allows there, else the text itself.

    In the place of a text, what the schema allows as a text is one. Raises ValueError or RecursionError for JSON that
    no reader takes: thousands of digits in a number, or of brackets.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    if isinstance(value, str):
        return value
    likely, other = (text, value) if isinstance(value_at(gold, tuple(path)), str) else (value, text)
    allowed = (
        each for each in (likely, other) if new_violation(case, gold, _changed(gold, tuple(path), each)[0]) is None
    )
    return next(allowed, likely)


def differing_fields(
    scorer: Scorer, first: Json, second: Json, names: tuple[str, str]
) -> tuple[dict[str, OpenField], list[tuple[str, bool]]]:
    """Compare two golds of one document: the fields on which they differ, and for each compared one if they agree."""
    score = scorer.score(first, second)
    compared = [(result.pattern, result.passed) for result in score.leaves if result.status is not Status.SKIPPED]
    found: dict[str, OpenField] = {}
    for change in changes_of(first, second, score.record()):
        sides = zip((change.old, change.new), names, strict=True)
        candidates = tuple(Candidate(value=side, sources=(name,)) for side, name in sides)
        found[path_text(change.steps)] = OpenField(why=_DISAGREE, candidates=candidates)
    return found, compared


def with_disputes(review: GoldReview, fields: Mapping[str, OpenField], names: tuple[str, str]) -> GoldReview:
    """Return a review with what two reviewers dispute now in place of what they disputed before.

    A gold on which they come to agree is reviewed again, but for a draft that nobody has accepted.
    """
    sources = [(name,) for name in names]
    others = {
        path: each
        for path, each in review.open.items()
        if each.why != _DISAGREE or [candidate.sources for candidate in each.candidates] != sources
    }
    if not fields and len(others) == len(review.open):
        return review
    found = {**others, **fields}
    accepted = not review.sources or "$" in review.decisions
    return replace(review, reviewed=accepted and not found, open=found)
