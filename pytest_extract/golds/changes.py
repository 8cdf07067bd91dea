"""Changes of golds: those that an output proposes, what names rows after one has moved, and drafts of several outputs.

An output proposes keys that the gold lacks, or the leaves and rows that fail.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from pytest_extract.cases.edit import (
    REVIEWED,
    Candidate,
    GoldReview,
    OpenField,
    change_keys,
    change_reviews,
    read_reviews,
    review_name,
    review_path,
)
from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import Steps
from pytest_extract.core.case_result import Attempt
from pytest_extract.core.output_shape import unwrap
from pytest_extract.core.parse import parse_output
from pytest_extract.core.results import STRUCTURE, FieldResult, ScoreRecord, Status
from pytest_extract.core.scorer import Score, Scorer, compile_schema
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    FieldStep,
    Json,
    Missing,
    Step,
    canonical_json,
    copied,
    iter_leaves,
    parse_field,
    path_text,
    pattern_of,
    put_value,
    value_at,
)

UpdateMode: TypeAlias = Literal["new", "fix"]
"""`new` adds what the gold lacks and changes nothing else; `fix` changes what fails."""
Locate: TypeAlias = Callable[[Json], str | None]
"""Says where a scalar stands in the document: "" for nowhere, None where that cannot be said (a boolean, an image)."""


class GoldEdit(NamedTuple):
    """A value of a gold that changes, at `steps` of the gold; a side is empty where the value is absent.

    `evidence`: where the two values stand in the document. Of builtins only: pytest's report carries it.
    """

    steps: Sequence[str | int]
    old: Sequence[Json]
    new: Sequence[Json]
    evidence: str = ""


class GoldModification(NamedTuple):
    """One change of a gold, at its place in the gold as it was; an added row stands behind the rows of its list.

    `old` is MISSING where a value is added, `new` where one is removed.
    """

    steps: Steps
    old: Json | Missing
    new: Json | Missing

    @property
    def is_row(self) -> bool:
        """Whether a row is added to a list, or removed from it."""
        return isinstance(next(reversed(self.steps), None), int) and MISSING in (self.old, self.new)

    @property
    def removes_row(self) -> bool:
        """Whether a row goes."""
        return self.is_row and self.new is MISSING


class GoldProposal(NamedTuple):
    """A gold with what an output changes in it.

    edits: every value that changes, at its place in `value`; of a removed row, where it was. kept: changes that are not
    made, because the document has the gold's value and not the output's; at their place in the gold as it was. removed:
    the rows that go, each behind those that its removal would move.
    """

    value: Json
    edits: tuple[GoldEdit, ...]
    kept: tuple[GoldEdit, ...]
    removed: Sequence[Steps]


def output_value(case: Case, attempt: Attempt) -> Json | Missing:
    """Return the value of an output that is compared with the gold: without confidence and citations around values."""
    value = parse_output(attempt.output, finish_reason=attempt.finish_reason, fits=case.scorer.fits).value
    return value if case.confidence is None or value is MISSING else unwrap(value, case.confidence).value


def propose(
    gold: Json,
    output: Json,
    score: ScoreRecord,
    *,
    mode: UpdateMode,
    locate: Locate,
    force: bool,
    excluded: Callable[[FieldResult], bool],
) -> GoldProposal:
    """Return the gold with the output's values where it lacks a key (`new`), or where the comparison fails (`fix`).

    `score` compares the two. `excluded` results change nothing. `force` also makes changes that the document
    contradicts. Keys that the schema does not declare are never added.
    """
    changes: list[GoldModification] = []
    kept: list[GoldEdit] = []
    for change in changes_of(gold, output, score, mode=mode, excluded=excluded):
        if mode == "new" and not _fills(gold, change.steps):
            continue
        if not force and change.old is not MISSING and _is_contradicted(change, locate):
            kept += _leaf_edits(change.old, change.new, change.steps, locate)
        else:
            changes.append(change)
    removed = [change.steps for change in changes if change.removes_row]
    removed.sort(key=lambda steps: (len(steps), steps[-1]), reverse=True)
    gone: dict[Steps, list[int]] = defaultdict(list)
    for *array, row in sorted(removed):
        gone[tuple(array)].append(int(row))
    root = {"gold": copied(gold)}
    edits: list[GoldEdit] = []
    for change in changes:
        steps = change.steps
        if not change.removes_row:
            put_value(root, ("gold", *steps), change.new)
            steps = tuple(
                step - bisect_left(gone.get(steps[:at], ()), step) if isinstance(step, int) else step
                for at, step in enumerate(steps)
            )
        edits += _leaf_edits(change.old, change.new, steps, locate)
    for steps in removed:  # last, as all changes name rows by their place in the gold
        put_value(root, ("gold", *steps), MISSING)
    return GoldProposal(value=root["gold"], edits=tuple(edits), kept=tuple(kept), removed=removed)


def changes_of(
    gold: Json,
    output: Json,
    score: ScoreRecord,
    *,
    mode: UpdateMode = "fix",
    excluded: Callable[[FieldResult], bool] = lambda _result: False,
) -> Iterator[GoldModification]:
    """Yield a change for each failing leaf, one for each row that only one side has; what is missing alone if `new`."""
    missing_rows = {(*array.path, index) for array in score.arrays for index in array.missing}
    undecided = (Status.SKIPPED, Status.JUDGE_ERROR)
    results = [each for each in score.leaves if not (each.passed or each.status in undecided or excluded(each))]
    rows: set[Steps] = set()
    for result in results:
        path = tuple(result.path)
        row = next((path[:end] for end in range(1, len(path) + 1) if path[:end] in missing_rows), None)
        if row is not None:
            if mode == "fix" and row not in rows:
                rows.add(row)
                yield GoldModification(row, value_at(gold, row), MISSING)
        elif result.gold is MISSING:
            if result.metric != STRUCTURE and not _is_invented_row(path):
                yield GoldModification(path, MISSING, result.extracted)
        elif mode == "fix":
            yield GoldModification(path, result.gold, result.extracted)
    added: Counter[Steps] = Counter()
    for array, value in _invented_rows(results, output):
        there = value_at(gold, array)
        place = (len(there) if isinstance(there, list) else 0) + added[array]
        added[array] += 1
        yield GoldModification((*array, place), MISSING, value)


def _is_invented_row(path: Iterable[Step]) -> bool:
    return any(isinstance(step, int) and step < 0 for step in path)


def _invented_rows(results: Iterable[FieldResult], output: Json) -> Iterator[tuple[Steps, Json]]:
    """Yield the rows that only an output has, each once: the path of its list, and the row."""
    seen: set[Steps] = set()
    for result in results:
        path = tuple(result.path)
        size = next((size for size in range(1, len(path) + 1) if _is_invented_row(path[:size])), 0)
        if size and result.matched is not None and path[:size] not in seen:
            seen.add(path[:size])
            yield path[: size - 1], value_at(output, tuple(result.matched)[:size])


def _fills(gold: Json, steps: Steps) -> bool:
    """Whether the gold has nothing at a place, nor a null or a list around it: those are its answer."""
    for step in steps:
        if isinstance(gold, dict) and step not in gold:
            return True
        if not isinstance(gold, dict | list) or (gold := value_at(gold, (step,))) is MISSING:
            return False
    return False


def _is_contradicted(change: GoldModification, locate: Locate) -> bool:
    """Whether the document has what the gold says, and not what the output says."""
    old, new = _places_in(change.old, locate), _places_in(change.new, locate)
    return any(old) and 2 * sum(map(bool, old)) >= len(old) and not any(new)


def _places_in(value: Json | Missing, locate: Locate) -> list[str]:
    """Say where each leaf of a value stands, "" for nowhere; without those of which nobody can say it."""
    leaves = () if value is MISSING else iter_leaves(value)
    return [place for _, leaf in leaves if (place := locate(leaf)) is not None]


def _leaf_edits(old: Json | Missing, new: Json | Missing, steps: Steps, locate: Locate) -> Iterator[GoldEdit]:
    for place, before, after in changed_leaves(old, new, steps):
        evidence = ", ".join(
            f"{name} {f'at {found}' if found else 'nowhere in the document'}"
            for name, value in (("old", before), ("new", after))
            if (found := place_of(value, locate)) is not None
        )
        old_side, new_side = ([] if side is MISSING else [side] for side in (before, after))
        yield GoldEdit(place, old_side, new_side, evidence)


def changed_leaves(
    old: Json | Missing, new: Json | Missing, steps: Steps = ()
) -> Iterator[tuple[Steps, Json | Missing, Json | Missing]]:
    """Yield place, old and new value of every leaf that differs; a container on one side only gives its leaves."""
    sides = [side for side in (old, new) if side is not MISSING]
    inside: Iterable[Step] = ()
    if all(isinstance(side, dict) for side in sides):
        inside = dict.fromkeys(chain(*sides))
    elif all(isinstance(side, list) for side in sides):
        inside = range(max(map(len, sides)))
    if inside:
        for step in inside:
            yield from changed_leaves(value_at(old, (step,)), value_at(new, (step,)), (*steps, step))
    elif len(sides) == 1 or canonical_json(old) != canonical_json(new):
        yield steps, old, new


def place_of(value: Json | Missing, locate: Locate) -> str | None:
    """Say where a value stands; None too where there is none, and for lists and objects."""
    return None if value is MISSING or value is None or isinstance(value, dict | list) else locate(value)


# --- what names rows of a gold by their places, its review and keys of its cases, after a row has moved or is gone

T = TypeVar("T")
S = TypeVar("S", bound=FieldStep)
_BY_FIELD: Final = ("accept", "absent", "evidence", "overrides")
"""Keys of a case whose values are mappings by field."""


class MovedRow(NamedTuple):
    """A row of the list at `array` that was at `old` and now is at `new`, which is not behind it; None: it is gone."""

    array: Steps
    old: int
    new: int | None

    def path(self, path: tuple[S, ...]) -> tuple[S | int, ...] | None:
        """Return where a path leads now; None where the row that it leads to is gone."""
        at = len(self.array)
        index = path[at] if len(path) > at and path[:at] == self.array else None
        if not isinstance(index, int):
            return path
        moved: int | None
        if index == self.old:
            moved = self.new
        elif self.new is None:
            moved = index - (index > self.old)
        else:
            moved = index + (self.new <= index < self.old)
        return None if moved is None else (*path[:at], moved, *path[at + 1 :])

    def name(self, name: str) -> str | None:
        """Return the text of a path or pattern as it is now; None where the row is gone."""
        path = parse_field(name)
        moved = None if path is None else self.path(path)
        return name if moved == path else None if moved is None else path_text(moved)

    def names(self, named: Mapping[str, T]) -> dict[str, T]:
        """Return what is known of paths under their texts as they are now, without what is gone."""
        return {moved: part for name, part in named.items() if (moved := self.name(name)) is not None}


def gold_name(case: Case) -> str:
    """Return the name of a case's gold in the file with its review."""
    return review_name(case.gold_steps, case.gold_line, case.id)


def review_of(case: Case) -> GoldReview:
    """Return the review of a case's gold as it is now. Raises CaseFileError."""
    return read_reviews(review_path(case.gold_path)).get(gold_name(case), REVIEWED)


def same_gold(one: Case, other: Case) -> bool:
    """Whether two cases have one gold: by a file, by a place in a file, or by `defaults`."""
    return (one.gold_path, one.gold_steps, one.gold_line) == (other.gold_path, other.gold_steps, other.gold_line)


def follow_row(cases: Sequence[Case], row: MovedRow) -> None:
    """Change what names rows of a gold, in its review and in the keys of the `cases` that have it.

    What keys of several cases say, those of `defaults` and `documents`, stays. Raises CaseFileError, StoreError.
    """

    def moved(review: GoldReview) -> GoldReview:
        new = replace(review, open=row.names(review.open), decisions=row.names(review.decisions))
        return review if new == review else new

    def renamed(keys: Mapping[str, Json]) -> dict[str, Json]:
        """Return the keys of a case with the paths of rows as they are now, without what only a removed row had."""
        new: dict[str, Json] = {key: row.names(keys[key]) for key in _BY_FIELD if isinstance(keys.get(key), dict)}
        if isinstance(known := keys.get("known_failures"), list):
            paths = [(entry, row.name(entry["path"])) for entry in known]
            new["known_failures"] = [{**entry, "path": path} for entry, path in paths if path is not None]
        return {key: part for key, part in {**keys, **new}.items() if part or not keys[key]}

    change_reviews(cases[0].gold_path, map(gold_name, cases), moved)
    for case in {(case.path, case.line, case.steps): case for case in cases}.values():  # altered ones have no own keys
        change_keys(case, renamed)


# --- drafts of golds from several outputs: what they agree on and the document has is proposed, the rest is disputed

NOWHERE: Final = "stands nowhere in the document"
LEAST_DERIVED: Final = 3
"""Fewest values that stand in no document and are derived."""


class Draft(NamedTuple):
    """A gold made of outputs: its value, the fields to decide by path, and the number of values that are agreed on."""

    value: Json
    open: Mapping[FieldPath, OpenField]
    agreed: int
    sources: tuple[str, ...]


class _Vote(NamedTuple):
    """A field, and which value each output has there; an output that lacks the row around it has no vote."""

    path: Steps
    values: Mapping[str, Json | Missing]
    same: frozenset[str]
    """Outputs whose value is that of the base by the schema's own metrics."""


def draft_gold(
    scorer: Scorer, outputs: Mapping[str, Json], locate: Locate, *, is_exact: Callable[[Json], bool] = lambda _v: False
) -> Draft:
    """Return a draft from outputs by the names of what made them; at least one.

    Rows are aligned and values compared by the schema's own metrics; where only a judge could decide, `exact` stands in
    for it, as lists whose rows it aligns would be disputed as a whole. A value is agreed on if all
    outputs have it and it stands in the document, or if most have it, it stands there and no other candidate does; a
    row if most have it and most of it stands there.
    Of texts that the metrics find equal, one that the document has to the letter (`is_exact`) is taken.
    Values that the schema lists need not stand there. With one output, every value is open.
    """
    if scorer.needs_judge:
        scorer = compile_schema(**{**scorer.source, "judge_mode": "exact"})
    base = _most_central(scorer, outputs, locate)
    scores = {name: scorer.score(outputs[base], output) for name, output in outputs.items() if name != base}
    missing_rows: dict[Steps, set[str]] = {}
    for name, score in scores.items():
        for array in score.arrays:
            for index in array.missing:
                missing_rows.setdefault((*array.path, index), set()).add(name)
    root = {"gold": copied(outputs[base])}
    open_: dict[FieldPath, OpenField] = {}
    agreed = 0
    for vote in _votes(outputs, base, scores, missing_rows):
        is_label = pattern_of(vote.path) in scorer.enumerations
        winner, field = _decided(vote, base, locate, is_exact, is_label=is_label)
        if winner is not MISSING or value_at(root["gold"], vote.path) is not MISSING:
            put_value(root, ("gold", *vote.path), winner)
        if field is not None:
            open_[FieldPath(vote.path)] = field
        else:
            agreed += winner is not MISSING and winner is not None
    rows = {path: [name for name in outputs if name not in without] for path, without in missing_rows.items()}
    extra: dict[tuple[Steps, str], tuple[Json, dict[str, None]]] = {}
    for name, score in scores.items():
        for array_path, row in _invented_rows(score.leaves, outputs[name]):
            extra.setdefault((array_path, canonical_json(row)), (row, {}))[1][name] = None
    for (array_path, _), (row, owners) in extra.items():
        there = value_at(root["gold"], array_path)
        path = (*array_path, len(there) if isinstance(there, list) else 0)
        put_value(root, ("gold", *path), row)
        rows[path] = [*owners]
    for path, named in rows.items():
        row = value_at(root["gold"], path)
        places, others = _places_in(row, locate), [name for name in outputs if name not in named]
        stands = 2 * sum(map(bool, places)) >= len(places)
        if not stands or len(named) <= len(others):
            there = "most of it stands in the document" if stands else NOWHERE
            why = f"{len(others)} of {len(outputs)} outputs lack this row; {there}"
            sides = Candidate(value=row, sources=tuple(named)), Candidate(value=MISSING, sources=tuple(others))
            open_[FieldPath(path)] = OpenField(why=why, candidates=sides)
    inside = {path for path in open_ if any(path[:end] in open_ for end in range(len(path)))}
    outermost = {path: each for path, each in open_.items() if path not in inside}
    return Draft(value=root["gold"], open=outermost, agreed=agreed, sources=tuple(outputs))


def _most_central(scorer: Scorer, outputs: Mapping[str, Json], locate: Locate) -> str:
    """Return the output that agrees most with the others; among equals, the one with most values in the document."""

    def rank(name: str) -> tuple[float, int]:
        others = [output for other, output in outputs.items() if other != name and len(outputs) > 2]
        fits = sum(scorer.score(outputs[name], output).measures["f1"] for output in others)
        return fits, sum(1 for _, leaf in iter_leaves(outputs[name]) if locate(leaf))

    return max(outputs, key=rank)


def _votes(
    outputs: Mapping[str, Json], base: str, scores: Mapping[str, Score], missing_rows: Mapping[Steps, set[str]]
) -> Iterator[_Vote]:
    """Yield each field once, in the order of the base, with what every output has there."""
    if not scores:
        for path, value in iter_leaves(outputs[base], empty_lists=True):  # a table that was lost, maybe
            yield _Vote(tuple(path), {base: value}, frozenset({base}))
    results: dict[Steps, dict[str, FieldResult]] = {}
    for name, score in scores.items():
        for result in score.leaves:
            undeclared = result.metric == STRUCTURE and result.gold is MISSING
            if not undeclared and not _is_invented_row(result.path):
                results.setdefault(tuple(result.path), {})[name] = result
    around = {place[:end] for place in results for end in range(len(place))}
    for place, by_name in results.items():
        value = value_at(outputs[base], place)
        if isinstance(value, dict | list) and place in around:
            continue  # compared as a whole by one output and part by part by another
        values = {base: value}
        same = {base}
        lacking = {name for end in range(len(place) + 1) for name in missing_rows.get(place[:end], ())}
        for name in scores:
            if name in lacking:
                continue
            compared = by_name.get(name)
            values[name] = MISSING if compared is None else compared.extracted
            if compared.passed if compared is not None else value in (MISSING, None):
                same.add(name)
        yield _Vote(place, values, frozenset(same))


def _decided(
    vote: _Vote, base: str, locate: Locate, is_exact: Callable[[Json], bool], *, is_label: bool
) -> tuple[Json | Missing, OpenField | None]:
    """Return the value that a draft has for a field, and what is open about it."""
    alike = vote.values[base]
    written = dict.fromkeys(value for name in vote.same if isinstance(value := vote.values[name], str))
    if isinstance(alike, str) and len(written) > 1 and not is_exact(alike):
        alike = min(filter(is_exact, written), default=alike)
    groups: dict[str, tuple[Json | Missing, list[str]]] = {}
    for name, value in vote.values.items():
        key = "same" if name in vote.same else "absent" if value in (MISSING, None) else canonical_json(value)
        groups.setdefault(key, (alike if key == "same" else value, []))[1].append(name)
    candidates = [
        Candidate(value=value, sources=tuple(names), evidence=place_of(value, locate))
        for value, names in groups.values()
    ]
    candidates.sort(key=lambda each: (-len(each.sources), not each.evidence))
    first, *others = candidates
    why = []
    if others:
        is_clear = 2 * len(first.sources) > len(vote.values) and first.evidence
        if not is_clear or any(each.evidence for each in others):
            why.append("outputs disagree")
    else:
        if len(vote.values) == 1 and first.value not in (MISSING, None):
            why.append("only one output has it")
        if first.evidence == "" and not is_label:
            why.append(NOWHERE)
    return first.value, OpenField(why=", and it ".join(why), candidates=tuple(candidates)) if why else None


def accept_labels(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts without what is open only because a label stands nowhere: a unit, a category.

    A label is a value on which all outputs agree, under one key, at least LEAST_DERIVED times in the drafts.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for draft in drafts:
        counts.update(label for path, each in draft.open.items() if (label := _label(path, each)) is not None)
    settled = []
    for draft in drafts:
        labels = {path for path, each in draft.open.items() if counts[_label(path, each) or ("", "")] >= LEAST_DERIVED}
        left = {path: each for path, each in draft.open.items() if path not in labels}
        settled.append(draft._replace(open=left, agreed=draft.agreed + len(labels)))
    return settled


def _label(path: FieldPath, field: OpenField) -> tuple[str, str] | None:
    if field.why != NOWHERE or not isinstance(field.candidates[0].value, str):
        return None
    return next((step for step in reversed(path) if isinstance(step, str)), ""), field.candidates[0].value
