"""Drafts of golds from several outputs: what they agree on and the document has is proposed, the rest is disputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pytest_extract.cases.review_file import Candidate, OpenField
from pytest_extract.cases.sources import Steps
from pytest_extract.core.results import STRUCTURE, FieldResult
from pytest_extract.core.score import Score
from pytest_extract.core.scorer import Scorer, compile_schema
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    copied,
    iter_leaves,
    path_text,
    pattern_of,
    value_at,
)
from pytest_extract.golds.changes import Locate, place_of, put_value
from pytest_extract.golds.lint import LEAST_DERIVED

NOWHERE: Final = "stands nowhere in the document"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
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
    scorer: Scorer,
    outputs: Mapping[str, Json],
    locate: Locate,
    *,
    is_label: Callable[[str], bool] = lambda _p: False,
    is_exact: Callable[[Json], bool] = lambda _v: False,
) -> Draft:
    """Return a draft from outputs by the names of what made them; at least one.

    Rows are aligned and values compared by the schema's own metrics; where only a judge could decide, `exact` stands in
    for it, as lists whose rows it aligns would be disputed as a whole. A value is agreed on if all
    outputs have it and it stands in the document, or if most have it, it stands there and no other candidate does.
    Of texts that the metrics find equal, one that the document has to the letter (`is_exact`) is taken.
    Fields whose pattern `is_label` accepts (an enumeration, say) need not stand there. With one output, every value is
    open.
    """
    if scorer.needs_judge:
        scorer = compile_schema(**{**scorer.source, "judge_mode": "exact"})
    names = [*outputs]
    base = _most_central(scorer, outputs, locate)
    others = [name for name in names if name != base]
    root = {"gold": copied(outputs[base])}
    open_: dict[FieldPath, OpenField] = {}
    agreed = 0
    scores = {name: scorer.score(outputs[base], outputs[name]) for name in others}
    missing_rows: dict[Steps, set[str]] = {}
    for name, score in scores.items():
        for array in score.arrays:
            for index in array.missing:
                missing_rows.setdefault((*array.path, index), set()).add(name)
    for vote in _votes(outputs, base, scores, missing_rows):
        winner, field = _decided(vote, base, locate, is_label, is_exact)
        if winner is not MISSING or value_at(root["gold"], vote.path) is not MISSING:
            put_value(root, ("gold", *vote.path), winner)
        if field is not None:
            open_[FieldPath(vote.path)] = field
        else:
            agreed += winner is not MISSING and winner is not None
    open_ |= _open_rows(root, missing_rows, outputs, locate)
    open_ |= _added_rows(root, scores, outputs, locate)
    inside = {path for path in open_ if any(path[:end] in open_ for end in range(len(path)))}
    return Draft(
        value=root["gold"],
        open={path: each for path, each in open_.items() if path not in inside},
        agreed=agreed,
        sources=tuple(names),
    )


def _open_rows(
    root: Mapping[str, Json], missing_rows: Mapping[Steps, set[str]], outputs: Mapping[str, Json], locate: Locate
) -> dict[FieldPath, OpenField]:
    """Return the rows of the base that other outputs lack, but those that most have and the document shows."""
    found: dict[FieldPath, OpenField] = {}
    for path, without in missing_rows.items():
        row = value_at(root["gold"], path)
        is_inside = any(path[:end] in missing_rows for end in range(1, len(path)))
        with_it = [name for name in outputs if name not in without]
        if not is_inside and not (2 * len(with_it) > len(outputs) and _mostly_stands(row, locate)):
            found[FieldPath(path)] = _row_field(row, with_it, [*without], locate)
    return found


def _added_rows(
    root: Mapping[str, Json], scores: Mapping[str, Score], outputs: Mapping[str, Json], locate: Locate
) -> dict[FieldPath, OpenField]:
    """Add the rows that the base lacks to the draft, and return them as open."""
    found: dict[FieldPath, OpenField] = {}
    for array_path, row, with_it in _extra_rows(scores, outputs):
        rows = value_at(root["gold"], array_path)
        if not isinstance(rows, list):
            put_value(root, ("gold", *array_path), [])
            rows = value_at(root["gold"], array_path)
        if isinstance(rows, list):
            place = FieldPath((*array_path, len(rows)))
            rows.append(copied(row))
            found[place] = _row_field(row, with_it, [name for name in outputs if name not in with_it], locate)
    return found


def _most_central(scorer: Scorer, outputs: Mapping[str, Json], locate: Locate) -> str:
    """Return the output that agrees most with the others; among equals, the one with most values in the document."""
    if len(outputs) == 1:
        return next(iter(outputs))

    def rank(name: str) -> tuple[float, int]:
        fits = 0.0
        if len(outputs) > 2:
            fits = sum(scorer.score(outputs[name], outputs[other]).measures["f1"] for other in outputs if other != name)
        return fits, sum(1 for _, leaf in iter_leaves(outputs[name]) if locate(leaf))

    return max(outputs, key=rank)


def _votes(
    outputs: Mapping[str, Json],
    base: str,
    scores: Mapping[str, Score],
    missing_rows: Mapping[Steps, set[str]],
) -> Iterator[_Vote]:
    """Yield each field once, in the order of the base, with what every output has there."""
    if not scores:
        for path, value in iter_leaves(outputs[base], empty_lists=True):  # a table that was lost, maybe
            yield _Vote(tuple(path), {base: value}, frozenset({base}))
    results = _results_by_path(scores)
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


def _results_by_path(scores: Mapping[str, Score]) -> dict[Steps, dict[str, FieldResult]]:
    """Return the leaf results of each place of the base, by output; without those of rows and keys that it lacks."""
    results: dict[Steps, dict[str, FieldResult]] = {}
    for name, score in scores.items():
        for result in score.leaves:
            undeclared = result.metric == STRUCTURE and result.gold is MISSING
            if not undeclared and not any(isinstance(step, int) and step < 0 for step in result.path):
                results.setdefault(tuple(result.path), {})[name] = result
    return results


def _decided(
    vote: _Vote,
    base: str,
    locate: Locate,
    is_label: Callable[[str], bool],
    is_exact: Callable[[Json], bool],
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
    label = is_label(pattern_of(vote.path))
    stands = first.evidence != "" or label
    if len(vote.values) == 1:
        why: str | None = None if first.value in (MISSING, None) else "only one output has it"
        if why and not stands:
            why = f"{why}, and it {NOWHERE}"
    elif not others:
        why = None if stands else NOWHERE
    elif 2 * len(first.sources) > len(vote.values) and first.evidence and not any(each.evidence for each in others):
        why = None
    else:
        why = "outputs disagree"
    return first.value, None if why is None else OpenField(why=why, candidates=tuple(candidates))


def _mostly_stands(row: Json | Missing, locate: Locate) -> bool:
    """Whether at least half of a row's values that a text can show stand in the document."""
    places = [] if row is MISSING else [locate(leaf) for _, leaf in iter_leaves(row)]
    return 2 * sum(1 for place in places if place) >= sum(place is not None for place in places)


def _row_field(row: Json | Missing, with_it: Sequence[str], without: Sequence[str], locate: Locate) -> OpenField:
    there = "most of it stands in the document" if _mostly_stands(row, locate) else NOWHERE
    return OpenField(
        why=f"{len(without)} of {len(with_it) + len(without)} outputs lack this row; {there}",
        candidates=(
            Candidate(value=row, sources=tuple(with_it)),
            Candidate(value=MISSING, sources=tuple(without)),
        ),
    )


def _extra_rows(scores: Mapping[str, Score], outputs: Mapping[str, Json]) -> Iterator[tuple[Steps, Json, list[str]]]:
    """Yield the rows that the base lacks, each content once: path of its array, row, outputs that have it."""
    found: dict[tuple[Steps, str], tuple[Json, list[str]]] = {}
    for name, score in scores.items():
        for result in score.leaves:
            path = tuple(result.path)
            at = next((index for index, step in enumerate(path) if isinstance(step, int) and step < 0), None)
            if at is None or result.matched is None:
                continue
            row = value_at(outputs[name], tuple(result.matched)[: at + 1])
            _, sources = found.setdefault((path[:at], canonical_json(row)), (row, []))
            if name not in sources:
                sources.append(name)
    for (array_path, _), (row, sources) in found.items():
        yield array_path, row, sources


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
        settled.append(replace(draft, open=left, agreed=draft.agreed + len(labels)))
    return settled


def _label(path: FieldPath, field: OpenField) -> tuple[str, str] | None:
    if field.why != NOWHERE or not isinstance(field.candidates[0].value, str):
        return None
    return next((step for step in reversed(path) if isinstance(step, str)), ""), field.candidates[0].value


def open_paths(fields: Mapping[FieldPath, OpenField]) -> dict[str, OpenField]:
    """Return what is open, by the text of its path."""
    return {path_text(tuple(path)): each for path, each in fields.items()}
