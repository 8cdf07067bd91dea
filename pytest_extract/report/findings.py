"""Findings: what failed of one score, a line for each row or object that is wrong, and where the document has it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.results import WRONG, FieldResult, NamedMistake, ScoreRecord, Status, is_covered
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, canonical_json
from pytest_extract.core.words import listed, plural
from pytest_extract.documents import Document, DocumentError
from pytest_extract.report.lines import show

if TYPE_CHECKING:
    from pytest_extract.documents.evidence import Evidence

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

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        """The places of the results that one mistake explains; otherwise the place of the finding."""
        if self.mistake is not None and self.stands_for > 1 and not self.note:
            return self.mistake.paths
        return (self.result.path,)


class Split(NamedTuple):
    """The comparisons of one score: those that count, and the known failures of the case."""

    counted: list[FieldResult]
    known: list[FieldResult]


def split_known(score: ScoreRecord, known: Sequence[str]) -> Split:
    """Return all comparisons of a score: its leaf results, and field results without a leaf result below them."""
    from pytest_extract.core.mistakes import compared_results

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

    `mistakes` are the names of what went wrong. One that explains several results is one finding, if `folded`; so is a
    row, an object or an array that is missing or invented, and rows in another order.
    """
    failed = failed_results(results)
    if not failed:  # most outputs are right, and folding takes time
        return []
    findings = [*_folded_mistakes(failed, mistakes)] if folded else []
    explained = {path for finding in findings for path in finding.paths}
    others = [result for result in results if result.path not in explained or result.status not in FAILED]
    wholes = _one_sided_containers(others) | _reordered_rows(others) if folded else {}
    told: set[Path] = set()
    for result in failed_results(others):
        whole = next((wholes[place] for place in (*_places_around(result), result.path) if place in wholes), None)
        if whole is None:
            findings.append(Finding(result))
        elif whole.result.path not in told:
            told.add(whole.result.path)
            findings.append(whole)
    order: dict[Path, int] = {}
    for result in failed:
        for place in (*_places_around(result), result.path):
            order.setdefault(place, len(order))
    worst = sorted(
        _with_mistakes(findings, mistakes),
        key=lambda each: (each.result.score, -each.result.weight, order.get(each.paths[0], -1)),
    )
    return _join_items(worst) if folded else worst


_FOLDED_KINDS: Final = frozenset({"wrapped", "renamed_key", "swapped_fields", "merged_rows"})
"""Kinds of which the text says more than the values of each field."""
_MOVED_ROWS: Final = "; the rows after stand "
"""In the text of a missing or an invented row that moved others."""
_CUT_LIST: Final = "the list ends after "
"""Begins the text of a list that lost its last rows."""


def _folded_mistakes(failed: Sequence[FieldResult], mistakes: Sequence[NamedMistake]) -> Iterator[Finding]:
    by_path = {result.path: result for result in failed}
    for mistake in mistakes:
        results = [by_path[path] for path in mistake.paths if path in by_path]
        if len(results) < 2:
            continue
        steps = zip(*(result.path for result in results), strict=False)
        place = tuple(step[0] for step in takewhile(lambda step: len({*step}) == 1, steps))
        if mistake.text.startswith(_CUT_LIST) and isinstance(results[0].path[len(place)], int):
            row = results[0].path[: len(place) + 1]
            fields = [result for result in results if result.path[: len(row)] == row]
            whole = fields[0] if len(fields) == 1 else _one_sided_finding(row, fields).result
        elif mistake.kind in _FOLDED_KINDS or _MOVED_ROWS in mistake.text:
            whole = _whole(results, place, mistake.kind.replace("_", " "))._replace(status=Status.MISMATCH)
        else:
            continue
        yield Finding(whole, "", len(results), mistake._replace(paths=tuple(result.path for result in results)))


def _whole(results: Sequence[FieldResult], place: Path, what: str) -> FieldResult:
    """Return one result for several: `what` they are together, at a place, with their lowest score, without values."""
    return results[0]._replace(
        path=FieldPath(place),
        metric=what,
        params={},
        gold=MISSING,
        extracted=MISSING,
        reason=None,
        matched=None,
        score=min(result.score for result in results),
        weight=max(result.weight for result in results),
    )


def _with_mistakes(findings: Sequence[Finding], mistakes: Sequence[NamedMistake]) -> list[Finding]:
    """Add to each finding the mistake of its result, or of the results that it stands for."""
    last_first = mistakes[::-1]  # of several mistakes at a place, the first stays
    exact = {path: each for each in last_first for path in each.paths}
    around = {path[:size]: each for each in last_first for path in each.paths for size in range(len(path) + 1)}
    of = [around if finding.result.status in _ONE_SIDED else exact for finding in findings]
    return [
        finding._replace(mistake=finding.mistake or known.get(finding.result.path))
        for finding, known in zip(findings, of, strict=True)
    ]


_MOST_APART: Final = 2
"""Missing items of a list, or invented ones, that are told one by one."""


def _join_items(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding for many items of a list that are missing, or invented, and of which nothing else is told."""
    groups: dict[object, list[Finding]] = {}
    for index, finding in enumerate(findings):
        path, status = finding.result.path, finding.result.status
        is_item = status in _ONE_SIDED and path and isinstance(path[-1], int)
        alike = (path[:-1], status, mistake_text(finding)) if is_item else index
        groups.setdefault(alike, []).append(finding)
    return [each for group in groups.values() for each in (group if len(group) <= _MOST_APART else [_joined(group)])]


def _joined(group: Sequence[Finding]) -> Finding:
    """Return a finding that shows the first item, and tells how many there are and where."""
    first = group[0]
    places = listed([str((each.result.matched or each.result.path)[-1]) for each in group])
    note = f"{len(group):,} items {first.result.status.text}: {places}"
    return first._replace(note=note, stands_for=sum(each.stands_for for each in group))


def mistake_text(finding: Finding) -> str:
    """Return what is said of a finding's mistake, beside its values, status and note; "" where these say all."""
    if finding.mistake is None:
        return ""
    kind, text = finding.mistake.kind, finding.mistake.text
    if kind in {"missing", "invented"}:
        return text.partition("; ")[2]
    says_no_more = kind in {"missing_row", "invented_row"} and text.endswith((" is missing", " is not in the gold"))
    return "" if says_no_more else text


def finding_text(finding: Finding, width: int) -> str:
    """Say in a sentence what failed: its status, both values in about `width` columns each, and the mistake."""
    item = finding.result
    sides = (("gold", item.gold), ("extracted", item.extracted))
    values = (f"{name} {show(value, width)}" for name, value in sides if value is not MISSING)
    return ", ".join(filter(None, (item.status.text, *values, finding.note, mistake_text(finding))))


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
    given = []
    for name, value in result.params.items():
        if value is not None and (value or (result.metric, name) not in _off_by_default()):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            if isinstance(value, float):
                text = f"{value:.12g}".replace("e-0", "e-")
            given.append(f"{name}={text}")
    return f"{result.metric}({', '.join(given)})" if given else result.metric


@cache
def _off_by_default() -> frozenset[tuple[str, str]]:
    from pytest_extract.core.metrics import METRICS

    return frozenset((spec.name, param.name) for spec in METRICS.values() for param in spec.params if not param.default)


Path: TypeAlias = tuple[Step, ...]
_ONE_SIDED: Final = frozenset({Status.OMISSION, Status.HALLUCINATION})
_COMPARED: Final = frozenset({Status.MATCH, Status.MISMATCH})


def _places_around(result: FieldResult) -> Iterator[Path]:
    """Yield the paths of the containers that a result stands in, the outermost first."""
    return (result.path[:size] for size in range(1, len(result.path)))


def _one_sided_containers(results: Sequence[FieldResult]) -> dict[Path, Finding]:
    """Map each outermost container whose fields are all missing, or all invented, to its finding."""
    members: dict[Path, list[FieldResult]] = defaultdict(list)
    for result in results:
        for place in _places_around(result):
            members[place].append(result)
    found: dict[Path, Finding] = {}
    for place in sorted(members, key=len):
        inside = members[place]
        statuses = {result.status for result in inside}
        parts = {result.path[len(place)] for result in inside}  # of a single part, its own finding says more
        is_whole = len(statuses) == 1 and statuses <= _ONE_SIDED and len(parts) > 1
        if is_whole and found.keys().isdisjoint(_places_around(inside[0])):
            found[place] = _one_sided_finding(place, inside)
    return found


def _one_sided_finding(place: Path, members: Sequence[FieldResult]) -> Finding:
    first = members[0]
    missing = first.status is Status.OMISSION
    kind = "row" if type(place[-1]) is int else "array" if type(first.path[len(place)]) is int else "object"
    value = _assemble_value([(r.path[len(place) :], r.gold if missing else r.extracted) for r in members])
    result = _whole(members, place, kind)._replace(**{"gold" if missing else "extracted": value})
    if first.matched is not None and len(first.matched) >= len(place):
        result = result._replace(matched=FieldPath(first.matched[: len(place)]))
    size, noun = len(members), "field"
    if kind == "array":
        size, noun = len(value), "row" if isinstance(value[0], dict | list) else "value"
    return Finding(result, f"whole {kind}, {plural(size, noun)}", len(members))


def _reordered_rows(results: Sequence[FieldResult]) -> dict[Path, Finding]:
    """Map rows compared by position, of which each has exactly the values of another, to the finding of their list."""
    lists: dict[Path, dict[Path, list[FieldResult]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        for place in (*_places_around(result), result.path):
            if place and isinstance(place[-1], int):
                lists[place[:-1]][place].append(result)
    found: dict[Path, Finding] = {}
    for place, rows in lists.items():
        moved = {row: fields for row, fields in rows.items() if _may_have_moved(fields)}
        extracted = {_row_text(row, fields, "extracted"): row for row, fields in moved.items()}
        at = {row: extracted.get(_row_text(row, moved[row], "gold")) for row in sorted(moved)}
        stands_at = {row: other for row, other in at.items() if other is not None}
        if len(stands_at) > 1 and {*stands_at.values()} == stands_at.keys():
            wrong = failed_results(field for row in stands_at for field in moved[row])
            told = listed([f"{row[-1]} at {other[-1]}" for row, other in stands_at.items()])
            note = f"{len(stands_at):,} rows in another order: {told}"
            found |= dict.fromkeys(stands_at, Finding(_whole(wrong, place, "order"), note, len(wrong)))
    return found


def _may_have_moved(fields: Sequence[FieldResult]) -> bool:
    statuses = {field.status for field in fields}
    return Status.MISMATCH in statuses <= _COMPARED and all(field.matched is None for field in fields)


def _row_text(row: Path, fields: Sequence[FieldResult], side: Literal["gold", "extracted"]) -> str:
    return canonical_json({str(FieldPath(field.path[len(row) :])): getattr(field, side) for field in fields})


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


MOST_LISTED: Final = 3
"""Locations listed for one value; further ones are counted."""
_NEAREST_WIDTH: Final = 60


def value_locations(result: CaseResult, document: Document) -> dict[str, str]:
    """Map the path of each failing field to the locations of its gold and extracted values in the document."""
    leaves = {str(leaf.path): leaf for score in reversed(result.scores) for leaf in failed_results(score.leaves)}
    found: dict[str, str] = {}
    for path, leaf in leaves.items():
        parts = [
            location_text(side, evidence)
            for side, value in (("gold", leaf.gold), ("extracted", leaf.extracted))
            if value is not MISSING and (evidence := evidence_in(document, value, most=MOST_LISTED)) is not None
        ]
        if parts:
            found[path] = "; ".join(parts)
    return found


def evidence_in(document: Document, value: Json, *, most: int = 1, nearest: bool = True) -> Evidence | None:
    """Find a value; None for one that cannot be searched, and in a document without text (an image, audio)."""
    from pytest_extract.documents.evidence import find_evidence  # only failing values and golds are looked for

    try:
        return find_evidence(document, value, most=most, nearest=nearest)
    except DocumentError:
        return None


def place_in(document: Document, value: Json) -> str | None:
    """Say where a value stands in a document: "" for nowhere, None where that cannot be said."""
    evidence = evidence_in(document, value, nearest=False)
    return None if evidence is None else str(evidence.locations[0]) if evidence.found else ""


def stands_exactly(document: Document, value: Json) -> bool:
    """Whether a document has a value to the letter, but for white space."""
    from pytest_extract.documents.evidence import MatchLevel

    evidence = evidence_in(document, value, nearest=False)
    return evidence is not None and evidence.found and evidence.locations[0].level is MatchLevel.EXACT


def location_text(side: str, evidence: Evidence) -> str:
    """Say where a value stands: `gold at page 3, line 5, column 1`, or that it stands nowhere, and the nearest text."""
    if evidence.found:
        left = evidence.count - len(evidence.locations)
        return f"{side} at {'; '.join(map(str, evidence.locations))}{f' and {left} more' if left else ''}"
    near = f" (nearest: {show(found.quote, _NEAREST_WIDTH)} at {found})" if (found := evidence.nearest) else ""
    return f"{side} stands nowhere in the document{near}"
