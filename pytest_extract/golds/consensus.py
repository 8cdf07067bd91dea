"""Drafts of golds from several outputs: what they agree on and the document has is proposed, the rest is disputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pytest_extract.cases.edit import Candidate, OpenField
from pytest_extract.cases.sources import Steps
from pytest_extract.core.results import STRUCTURE, FieldResult
from pytest_extract.core.scorer import Score, Scorer, compile_schema
from pytest_extract.core.values import (
    MISSING,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    copied,
    iter_leaves,
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
    is_exact: Callable[[Json], bool] = lambda _v: False,
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
    for array_path, row, owners in _extra_rows(scores, outputs):
        there = value_at(root["gold"], array_path)
        path = (*array_path, len(there) if isinstance(there, list) else 0)
        put_value(root, ("gold", *path), row)
        rows[path] = owners
    for path, owners in rows.items():
        field = _row_field(value_at(root["gold"], path), owners, outputs, locate)
        if field is not None:
            open_[FieldPath(path)] = field
    inside = {path for path in open_ if any(path[:end] in open_ for end in range(len(path)))}
    return Draft(
        value=root["gold"],
        open={path: each for path, each in open_.items() if path not in inside},
        agreed=agreed,
        sources=tuple(outputs),
    )


def _most_central(scorer: Scorer, outputs: Mapping[str, Json], locate: Locate) -> str:
    """Return the output that agrees most with the others; among equals, the one with most values in the document."""

    def rank(name: str) -> tuple[float, int]:
        others = [output for other, output in outputs.items() if other != name and len(outputs) > 2]
        fits = sum(scorer.score(outputs[name], output).measures["f1"] for output in others)
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
    results: dict[Steps, dict[str, FieldResult]] = {}
    for name, score in scores.items():
        for result in score.leaves:
            undeclared = result.metric == STRUCTURE and result.gold is MISSING
            if not undeclared and not any(isinstance(step, int) and step < 0 for step in result.path):
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


def _row_field(row: Json | Missing, owners: Sequence[str], outputs: Iterable[str], locate: Locate) -> OpenField | None:
    """Return what is open about a row that only some outputs have; None where most do, and the document shows it."""
    places = [] if row is MISSING else [locate(leaf) for _, leaf in iter_leaves(row)]
    stands = 2 * sum(1 for place in places if place) >= sum(place is not None for place in places)
    others = [name for name in outputs if name not in owners]
    if stands and len(owners) > len(others):
        return None
    there = "most of it stands in the document" if stands else NOWHERE
    return OpenField(
        why=f"{len(others)} of {len(owners) + len(others)} outputs lack this row; {there}",
        candidates=(
            Candidate(value=row, sources=tuple(owners)),
            Candidate(value=MISSING, sources=tuple(others)),
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
