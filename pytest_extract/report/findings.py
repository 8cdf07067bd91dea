"""Findings: the comparisons of one score that failed, folded into one line for each row or object that is wrong."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from pytest_extract.core.results import WRONG, FieldResult, NamedMistake, ScoreRecord, Status, is_covered
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, path_text
from pytest_extract.report.lines import plural
from pytest_extract.report.values import show

FAILED: Final = WRONG | {Status.JUDGE_ERROR}
"""Statuses that reports list as failures: wrong values, and comparisons that no judge has decided."""


class Finding(NamedTuple):
    """One line of a report: a comparison, or a summary of `stands_for` comparisons, described by `note`.

    `mistake` names what went wrong, None where no rule does.
    """

    result: FieldResult
    note: str = ""
    stands_for: int = 1
    mistake: NamedMistake | None = None


class Split(NamedTuple):
    """The comparisons of one score: those that count, and the known failures of the case."""

    counted: list[FieldResult]
    known: list[FieldResult]


def split_known(score: ScoreRecord, known: Sequence[str]) -> Split:
    """Return all comparisons of a score: its leaf results, and field results without a leaf result below them."""
    from pytest_extract.core.mistakes.output import compared_results

    results = compared_results(score.leaves, score.fields)
    if not known:
        return Split(results, [])
    split = Split([], [])
    for result in results:
        (split.known if is_covered(result, known) else split.counted).append(result)
    return split


def failed_results(results: Iterable[FieldResult]) -> list[FieldResult]:
    """Return the results that failed."""
    return [result for result in results if result.status in FAILED]


def findings_of(
    results: Sequence[FieldResult], *, folded: bool = True, mistakes: Sequence[NamedMistake] = ()
) -> list[Finding]:
    """Return the findings of the results that failed: by score, then by weight, then in document order.

    `mistakes` are the names of what went wrong. One that explains several results is one finding, if `folded`.
    """
    failed = failed_results(results)
    if not failed:  # most outputs are right, and folding takes time
        return []
    by_mistake: list[Finding] = []
    if folded and mistakes:
        by_mistake = [*_folded_mistakes(failed, mistakes)]
        explained = {path for finding in by_mistake if finding.mistake is not None for path in finding.mistake.paths}
        results = [result for result in results if result.path not in explained or result.status not in FAILED]
    findings = fold_failures(results) if folded else map(Finding, failed)
    named = _with_mistakes([*by_mistake, *findings], mistakes)
    return note_similar_values(sorted(named, key=lambda each: (each.result.score, -each.result.weight)))


_FOLDED_KINDS: Final = frozenset({"wrapped", "renamed_key", "swapped_fields", "merged_rows"})
"""Kinds of which the text says more than the values of each field."""
_MOVED_ROWS: Final = "; the rows after stand "
"""In the text of a missing or an invented row that moved others."""


def _folded_mistakes(failed: Sequence[FieldResult], mistakes: Sequence[NamedMistake]) -> Iterator[Finding]:
    by_path = {result.path: result for result in failed}
    for mistake in mistakes:
        results = [by_path[path] for path in mistake.paths if path in by_path]
        if len(results) > 1 and (mistake.kind in _FOLDED_KINDS or _MOVED_ROWS in mistake.text):
            head = results[0]._replace(
                path=_common_place([result.path for result in results]),
                metric=mistake.kind.replace("_", " "),
                params={},
                status=Status.MISMATCH,
                gold=MISSING,
                extracted=MISSING,
                reason=None,
                matched=None,
                score=min(result.score for result in results),
                weight=max(result.weight for result in results),
            )
            yield Finding(head, "", len(results), mistake._replace(paths=tuple(result.path for result in results)))


def _common_place(paths: Sequence[FieldPath]) -> FieldPath:
    """Return the innermost container of several places."""
    size = min(map(len, paths))
    while size and any(path[:size] != paths[0][:size] for path in paths):
        size -= 1
    return FieldPath(paths[0][:size])


def _with_mistakes(findings: Sequence[Finding], mistakes: Sequence[NamedMistake]) -> list[Finding]:
    """Add to each finding the mistake of its result, or of the results that it stands for."""
    if not mistakes:
        return [*findings]
    named: dict[Path, NamedMistake] = {}
    for mistake in mistakes:
        for path in mistake.paths:
            for size in range(len(path), -1, -1):
                named.setdefault(path[:size], mistake)
    from pytest_extract.core.mistakes import mistakes_by_path

    exact = mistakes_by_path(mistakes)
    return [
        finding
        if finding.mistake is not None
        else finding._replace(
            mistake=named.get(finding.result.path) if finding.note else exact.get(finding.result.path)
        )
        for finding in findings
    ]


def mistake_text(finding: Finding) -> str:
    """Return what is said of a finding's mistake, beside its values, status and note; "" where these say all."""
    mistake = finding.mistake
    if mistake is None:
        return ""
    if mistake.kind in {"missing", "invented"}:
        return mistake.text.partition("; ")[2]
    if mistake.kind in {"missing_row", "invented_row"} and mistake.text.endswith(
        (" is missing", " is not in the gold")
    ):
        return ""
    return mistake.text


def passing_known_failures(results: Sequence[FieldResult], known: Sequence[str]) -> list[str]:
    """Return the known failures that pass now: something is compared there, and nothing of it fails."""
    stale = []
    for place in known:
        statuses = {result.status for result in results if is_covered(result, (place,))}
        if Status.MATCH in statuses and FAILED.isdisjoint(statuses):
            stale.append(place)
    return stale


def metric_label(result: FieldResult) -> str:
    """Return the metric with the parameters that are set: `number(rel=0.01)`."""
    given = {
        name: value
        for name, value in result.params.items()
        if value is not None and (value or (result.metric, name) not in _off_by_default())
    }
    if not given:
        return result.metric
    return f"{result.metric}({', '.join(f'{name}={_param_text(value)}' for name, value in given.items())})"


@cache
def _off_by_default() -> frozenset[tuple[str, str]]:
    from pytest_extract.core.metrics import METRICS

    return frozenset((spec.name, param.name) for spec in METRICS.values() for param in spec.params if not param.default)


def _param_text(value: Json) -> str:
    if isinstance(value, float):
        return f"{value:.12g}".replace("e-0", "e-")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


Path: TypeAlias = tuple[Step, ...]
Members: TypeAlias = Sequence[tuple[Path, FieldResult]]
"""The results of a row, each with its path inside the row."""
Folded: TypeAlias = dict[Path, Finding | None]
"""Path -> the finding for all results at or below it; None if the finding of another path covers them."""

_MOST_LISTED: Final = 8
_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})


def fold_failures(results: Sequence[FieldResult]) -> list[Finding]:
    """Return one finding for each row, object or array that is wrong as a whole, and one for each other failure."""
    rows = _failing_rows(results)
    folded: Folded = {**_one_sided_containers(results)}
    for depth in sorted({_nesting_depth(row) for row in rows}):
        level = {
            row: members
            for row, members in rows.items()
            if _nesting_depth(row) == depth and not _is_inside(row, folded)
        }
        folded |= _reordered_rows(level)
    done: set[Path] = set()
    findings: list[Finding] = []
    for result in failed_results(results):
        path = result.path
        place = next((path[:size] for size in range(1, len(path) + 1) if path[:size] in folded), None)
        if place is None:
            findings.append(Finding(result))
        elif place not in done:
            done.add(place)
            if (whole := folded[place]) is not None:
                findings.append(whole)
    return findings


def _failing_rows(results: Iterable[FieldResult]) -> dict[Path, Members]:
    """Return the rows of the arrays with failures, by path; a nested row is part of its outer row, too."""
    failing = {
        result.path[:index]
        for result in results
        if result.status in FAILED
        for index, step in enumerate(result.path)
        if type(step) is int
    }
    rows: dict[Path, list[tuple[Path, FieldResult]]] = defaultdict(list)
    for result in results:
        path = result.path
        for index, step in enumerate(path):
            if type(step) is int and path[:index] in failing:
                rows[path[: index + 1]].append((path[index + 1 :], result))
    return dict(rows)


def _nesting_depth(row: Path) -> int:
    return sum(type(step) is int for step in row)


def _row_index(row: Path) -> int:
    index = row[-1]
    assert isinstance(index, int)  # noqa: S101 - rows end in their index
    return index


def _is_inside(path: Path, folded: Mapping[Path, object]) -> bool:
    return any(path[:size] in folded for size in range(1, len(path) + 1))


# --- containers that are missing or invented as a whole


def _one_sided_containers(results: Sequence[FieldResult]) -> dict[Path, Finding]:
    """Map each outermost container whose fields are all missing, or all invented, to its finding."""
    members: dict[Path, list[FieldResult]] = defaultdict(list)
    for result in results:
        if result.status in _ONE_SIDED:
            for size in range(1, len(result.path)):
                members[result.path[:size]].append(result)
    spoiled: set[Path] = set()
    for result in results:
        if result.path[:1] in members and result.status not in _ONE_SIDED:
            spoiled.update(result.path[:size] for size in range(1, len(result.path)))
    found: dict[Path, Finding] = {}
    for place in sorted(members.keys() - spoiled, key=len):
        if not _is_inside(place, found) and (whole := _one_sided_finding(place, members[place])) is not None:
            found[place] = whole
    return found


def _one_sided_finding(place: Path, members: Sequence[FieldResult]) -> Finding | None:
    first = members[0]
    if len(members) < 2 or any(result.status is not first.status for result in members):
        return None
    missing = first.status is Status.OMISSION
    kind = "row" if type(place[-1]) is int else "array" if type(first.path[len(place)]) is int else "object"
    value = _assemble_value([(r.path[len(place) :], r.gold if missing else r.extracted) for r in members])
    count = plural(len(members), "field")
    if kind == "array":
        if len(value) == 1:
            return None  # the finding of its only row says the same, with the index
        count = plural(len(value), "row" if isinstance(value[0], dict | list) else "value")
    matched = first.matched
    result = first._replace(
        path=FieldPath(place),
        metric=kind,
        params={},
        gold=value if missing else MISSING,
        extracted=MISSING if missing else value,
        reason=None,
        matched=None if matched is None or len(matched) < len(place) else FieldPath(matched[: len(place)]),
        weight=max(result.weight for result in members),
    )
    note = f"{f'whole {kind} missing' if missing else f'invented {kind}'}, {count}"
    return Finding(result, note, len(members))


def _assemble_value(leaves: Sequence[tuple[Path, Json]]) -> Json:
    """Build a value from the paths and values of its fields."""
    inside: dict[Step, list[tuple[Path, Json]]] = defaultdict(list)
    for path, value in leaves:
        if path:
            inside[path[0]].append((path[1:], value))
    if not inside:
        return leaves[0][1]
    if all(type(step) is int for step in inside):
        return [_assemble_value(below) for below in inside.values()]
    return {str(step): _assemble_value(below) for step, below in inside.items()}


def _is_paired(members: Members) -> bool:
    """Whether alignment, not position, has chosen the row to compare with."""
    both_sides = (Status.MATCH, Status.MISMATCH)
    return any(result.matched is not None or result.status not in both_sides for _, result in members)


def _row_values(members: Members, *, gold: bool) -> list[tuple[Path, Json]]:
    return [(rest, result.gold if gold else result.extracted) for rest, result in members]


# --- rows whose values were all extracted into another row of the array


def _reordered_rows(rows: Mapping[Path, Members]) -> Folded:
    """Fold rows whose values were all extracted into another row of the array: `rows 3 and 4 swapped`."""
    arrays: dict[Path, dict[Path, Members]] = defaultdict(dict)
    for row, members in rows.items():
        if not _is_paired(members):
            arrays[row[:-1]][row] = members
    folded: Folded = {}
    for array, members_of in arrays.items():
        stands_at = _rows_elsewhere(members_of)
        for one, other in stands_at.items():
            if stands_at.get(other) == one and _row_index(one) < _row_index(other):
                folded |= _fold_rows(array, members_of, [one, other], f"rows {one[-1]} and {other[-1]} swapped")
        rest = sorted((row for row in stands_at if row not in folded), key=_row_index)
        if len(rest) > 1 and {stands_at[row] for row in rest} == set(rest):
            folded |= _fold_rows(array, members_of, rest, _order_note(rest, stands_at))
    return folded


def _order_note(rows: Sequence[Path], stands_at: Mapping[Path, Path]) -> str:
    listed = ", ".join(f"{row[-1]} at {stands_at[row][-1]}" for row in rows[:_MOST_LISTED])
    return f"{len(rows)} rows in another order: {listed}{', …' if len(rows) > _MOST_LISTED else ''}"


def _rows_elsewhere(rows: Mapping[Path, Members]) -> dict[Path, Path]:
    """Map each failing gold row to the other failing row into which exactly its values were extracted."""
    bad = [row for row, members in rows.items() if any(result.status is not Status.MATCH for _, result in members)]
    extracted = {_row_content(_row_values(rows[row], gold=False)): row for row in bad}
    golds = {row: _row_content(_row_values(rows[row], gold=True)) for row in bad}
    return {row: at for row, content in golds.items() if (at := extracted.get(content)) is not None and at != row}


def _row_content(values: Sequence[tuple[Path, Json]]) -> str:
    return json.dumps({path_text(path): value for path, value in values}, sort_keys=True, default=repr)


def _fold_rows(array: Path, members_of: Mapping[Path, Members], rows: Sequence[Path], note: str) -> Folded:
    """Make one finding of all wrong results in some rows; the first row holds it."""
    wrong = [result for row in rows for _, result in members_of[row] if result.status is not Status.MATCH]
    result = wrong[0]._replace(
        path=FieldPath(array),
        metric="order",
        params={},
        gold=MISSING,
        extracted=MISSING,
        reason=None,
        score=min(result.score for result in wrong),
        weight=max(result.weight for result in wrong),
    )
    return {rows[0]: Finding(result, note, len(wrong)), **dict.fromkeys(rows[1:])}


SIMILAR_FROM: Final = 0.6
_MOST_PAIRS: Final = 10_000
"""Pairs of missing and invented values of one field that are compared; with more the notes are left out."""
_SIMILAR_WIDTH: Final = 40


def note_similar_values(findings: Sequence[Finding]) -> list[Finding]:
    """Note at each missing text of a list the invented text of the list that is most similar.

    Alignment pairs rows by their scores. Texts that differ may score 0, and then stay unpaired.
    """
    invented: dict[str, list[FieldResult]] = defaultdict(list)
    missing: dict[str, int] = defaultdict(int)
    for item, *_ in findings:
        if item.status is Status.HALLUCINATION and isinstance(item.extracted, str) and _nesting_depth(item.path):
            invented[item.pattern].append(item)
        missing[item.pattern] += item.status is Status.OMISSION
    bounded = {name for name, others in invented.items() if missing[name] * len(others) <= _MOST_PAIRS}
    return [
        _with_similar_value(finding, invented[finding.result.pattern]) if finding.result.pattern in bounded else finding
        for finding in findings
    ]


def _with_similar_value(finding: Finding, invented: Sequence[FieldResult]) -> Finding:
    from rapidfuzz.distance import Indel

    item = finding.result
    if item.status is not Status.OMISSION or not isinstance(item.gold, str) or finding.note:
        return finding
    gold = item.gold
    alike = [
        (Indel.normalized_similarity(gold, str(other.extracted), score_cutoff=SIMILAR_FROM), other)
        for other in invented
    ]
    score, best = max(alike, key=lambda pair: pair[0])
    if score < SIMILAR_FROM:
        return finding
    return finding._replace(
        note=f"much like {show(best.extracted, _SIMILAR_WIDTH)}, invented at {best.matched or best.path}"
    )
