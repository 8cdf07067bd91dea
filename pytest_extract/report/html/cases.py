"""The cases of a run as data of the page: a row for each in the list, and a body that is shown on demand; bounded."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from pytest_extract.core.aggregate.slices import natural_key, tag_text
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome
from pytest_extract.core.results import FieldResult, RuleStatus, ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.core.values import MISSING, FieldPath, Json, Step, places_around
from pytest_extract.regression.compare import FieldChange
from pytest_extract.report.diff import counts_text, finding_notes, inner_difference, output_lines, repeats_text
from pytest_extract.report.findings import FAILED, Finding, findings_of, metric_label, split_known
from pytest_extract.report.html.documents import PageDocument, PageDocuments
from pytest_extract.report.html.text import (
    MESSAGE,
    ORDER,
    VALUE_WIDTH,
    anchor,
    document_text,
    message,
    outcome_text,
    short_name,
    styled,
    styled_lines,
    table_data,
)
from pytest_extract.report.lines import NO_VARIANT, Table, first_of, plural, render_error
from pytest_extract.report.summary import (
    BY_EMPTINESS,
    MEASURES,
    measure_text,
    mostly_empty,
    reason_of,
    uncompared_places,
)
from pytest_extract.report.values import SideBySide, show, side_by_side

MOST_CASES: Final = 20_000
"""Cases on the page; further ones are counted."""
MOST_CHARACTERS: Final = 16_000_000
"""Characters of the bodies of all cases together; further cases have a note instead of a body."""
MOST_FIELDS: Final = 50
"""Failing fields of an output; further ones are counted."""
MOST_MATCHES: Final = 200
"""Fields of an output that match and are listed; further ones are counted."""
MOST_SMALL: Final = 1_000
"""With more cases than this, fields that match are only counted."""
HEAT_COLUMNS: Final = 100
"""Field patterns of the heat map: those that fail most."""
_MOST_REPEATS: Final = 5
_MOST_TEXTS: Final = 20
_MOST_ARRAYS: Final = 5
_MOST_ROWS: Final = 40
_MOST_COLUMNS: Final = 8
_MOST_VARIANTS: Final = 6
_MOST_OUTPUT: Final = 20_000
_CELL_WIDTH: Final = 60
_GIST: Final = 140
_TEXT_WIDTH: Final = 100
_MOST_INNER_CHANGES: Final = 5
_LEFT_OUT: Final = "The page is full: this case's fields are left out. The results file has them."


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlace:
    """A case on the page: the number of its variant, its rows in the table of fields, and its fields that got worse."""

    variant: int = 0
    rows: Sequence[int] = ()
    worse: Mapping[str, FieldChange] = field(default_factory=dict)


def case_data(
    results: Sequence[CaseResult],
    places: Sequence[CasePlace],
    patterns: Sequence[str],
    documents: PageDocuments,
    tags: Collection[str] = (),
) -> tuple[list[Json], list[str], list[str]]:
    """Return the list as data, a JSON text for the body of each case, and notes of what was left out.

    What is not green stands first; `places` are in the order of the results.
    `patterns`: the columns of the heat map. `tags`: those that the filter asks for.
    """

    def rank(item: tuple[CaseResult, CasePlace]) -> tuple[object, ...]:
        """Sort by outcome, fields worse than in the baseline, pass rate, and name."""
        result, place = item
        name = natural_key(result.nodeid)
        return ORDER.index(result.outcome), -len(place.worse), result.means.get("pass_rate", 0.0), name

    ordered = sorted(zip(results, places, strict=True), key=rank)
    matches = len(ordered) <= MOST_SMALL
    variants: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        variants.setdefault((result.file, result.case_id), []).append(result)
    shown = ordered[:MOST_CASES]
    columns = patterns[:HEAT_COLUMNS]
    rows: list[Json] = []
    bodies: list[str] = []
    room, full = MOST_CHARACTERS, 0
    for result, place in shown:
        if room > 0:
            beside = variants[result.file, result.case_id]
            body = _json(_body(result, place, documents, beside, matches=matches))
        else:
            body = _json({"note": _LEFT_OUT})
            full += 1
        room -= len(body)
        rows.append(_row(result, place, columns, tags))
        bodies.append(body)
    limits = []
    if len(ordered) > len(shown):
        limits.append(f"{len(shown):,} of {plural(len(ordered), 'case')} are on this page, what is not green first")
    if len(patterns) > HEAT_COLUMNS:
        limits.append(f"{HEAT_COLUMNS} of {plural(len(patterns), 'field')} that fail are in the heat map, the worst")
    if not matches:
        limits.append(f"fields that match are counted, not listed, in a run of more than {MOST_SMALL:,} cases")
    if full:
        limits.append(f"{len(shown) - full:,} of {plural(len(shown), 'case')} have room for their fields")
    return rows, bodies, limits


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


# --- the list


def _row(result: CaseResult, place: CasePlace, columns: Sequence[str], filtered: Collection[str]) -> Json:
    rate = result.means.get("pass_rate")
    tags = [[short_name(name), short_name(tag_text(result.tags, name))] for name in result.tags if name in filtered]
    return [
        anchor(result),
        short_name(result.case_id),
        ORDER.index(result.outcome),
        place.variant,
        len(place.worse),
        "" if result.outcome is Outcome.PASSED else message(reason_of(result), _GIST),
        None if rate is None else round(rate, 6),
        tags,
        _heat(result, columns),
        list(place.rows),
        sorted(mistakes_of(result)),
    ]


def mistakes_of(result: CaseResult) -> set[str]:
    """Return what the filter of mistakes knows of a case: the statuses of failing fields and the kinds of mistakes."""
    statuses = {item.status.value for score in result.scores for item in score.leaves if item.status in FAILED}
    return statuses | {each.kind.replace("_", " ") for score in result.scores for each in score.mistakes}


_LETTERS: Final[Mapping[Status, str]] = {
    Status.MATCH: "m",
    Status.MISMATCH: "x",
    Status.OMISSION: "o",
    Status.HALLUCINATION: "h",
    Status.JUDGE_ERROR: "j",
}
_WORST: Final = "xohjm"


def _heat(result: CaseResult, columns: Sequence[str]) -> str:
    """Return a letter for each column of the heat map: the worst status, upper case where all values fail."""
    if any(score.failure is not None and not score.readable for score in result.scores):
        return "!" * len(columns)
    letters: dict[str, set[str]] = {name: set() for name in columns}
    for score in result.scores:
        for item in score.leaves:
            if item.pattern in letters and item.status in _LETTERS:
                letters[item.pattern].add(_LETTERS[item.status])
    worst = (min(found, key=_WORST.index, default=".") for found in letters.values())
    return "".join(one if "m" in found else one.upper() for one, found in zip(worst, letters.values(), strict=True))


# --- the body


class _Shown(NamedTuple):
    """A case that is shown; `worse`: fields that got so, `evidence`: finds values, `matches`: those are listed, too."""

    result: CaseResult
    worse: Mapping[str, FieldChange]
    evidence: PageDocument | None
    matches: bool


def _body(
    result: CaseResult, place: CasePlace, documents: PageDocuments, variants: Sequence[CaseResult], *, matches: bool
) -> dict[str, Json]:
    """Return all that is shown of a case, and of the `variants` of it; never raises."""
    try:
        return _parts(result, place, documents, matches=matches) | _side_by_side(variants)
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the page along
        return {"note": f"{render_error('this case', error)}."}


def _parts(result: CaseResult, place: CasePlace, documents: PageDocuments, *, matches: bool) -> dict[str, Json]:
    bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
    listed = bad[:_MOST_REPEATS] or result.attempts[:1]  # a green case may have failing fields
    evidence = documents.of_case(result) if any(attempt.score is not None for attempt in listed) else None
    case = _Shown(result, place.worse, evidence if isinstance(evidence, PageDocument) else None, matches)
    body: dict[str, Json] = {"facts": _facts(result), "bounds": _missed_bounds(result)}
    if len(result.attempts) > 1:
        text = f"{repeats_text(result)}."
        left = len(bad) - _MOST_REPEATS
        body["repeats"] = f"{text} {plural(left, 'more repeat')} not green." if left > 0 else text
    body["attempts"] = [_attempt(case, each) for each in listed]
    if isinstance(evidence, str):
        body["nodoc"] = evidence
    elif evidence is not None:
        body["doc"] = evidence.index
    return body


def _side_by_side(variants: Sequence[CaseResult]) -> dict[str, Json]:
    """Return the fields that are wrong in one of several variants of a case, with the value of each."""
    if len(variants) < 2:
        return {}
    shown = variants[:_MOST_VARIANTS]
    leaves = [
        {
            str(leaf.path): leaf  # of several metrics at a place, one that failed
            for attempt in each.attempts[:1]
            if attempt.score
            for leaf in sorted(attempt.score.leaves, key=lambda leaf: leaf.status in FAILED)
        }
        for each in shown
    ]
    wrong = dict.fromkeys(path for found in leaves for path, leaf in found.items() if leaf.status in FAILED)
    rows = []
    for path in wrong:
        found = [each.get(path) for each in leaves]
        gold = next((leaf.gold for leaf in found if leaf is not None and leaf.gold is not MISSING), MISSING)
        values = ["-" if leaf is None else _variant_text(leaf) for leaf in found]
        rows.append((path, show(gold, _CELL_WIDTH), *values))
    names = [f"{short_name(each.variant.label) or NO_VARIANT}: {outcome_text(each.outcome)}" for each in shown]
    table = Table(("field", "gold", *names), rows, "Variants side by side").first(_MOST_ROWS, "field")
    return {"variants": table_data(table, paths=True)} if rows else {}


def _variant_text(leaf: FieldResult) -> str:
    return show(leaf.extracted, _CELL_WIDTH) if leaf.status in FAILED else "✓"


def _missed_bounds(result: CaseResult) -> list[str]:
    if result.breaches:
        return first_of([message(breach.message) for breach in result.breaches], _MOST_TEXTS, "bound")
    errors = {attempt.error for attempt in result.attempts}
    if result.why and result.outcome is not Outcome.PASSED and result.why not in errors:
        return [message(result.why)]
    return []


def _facts(result: CaseResult) -> list[Json]:
    facts = [("case", result.nodeid)]
    if result.variant.label:
        facts.append(("model", result.variant.label))
    means = result.means
    facts += [measure_text(name, means[name]) for name in MEASURES if name in means]
    seconds = [attempt.latency_s for attempt in result.attempts if attempt.latency_s]
    costs = [attempt.cost_usd for attempt in result.attempts if attempt.cost_usd is not None and not attempt.recorded]
    if sum(seconds) >= 0.05:
        facts.append(("took", f"{sum(seconds):.1f} s"))
    if costs:
        facts.append(("cost", f"${sum(costs):,.4f}"))
    if result.attempts and all(attempt.recorded for attempt in result.attempts):
        facts.append(("output", "recorded earlier"))
    if result.complexity:
        facts.append(("complexity", result.complexity))
    if (empty := mostly_empty(result)) is not None:
        facts.append((BY_EMPTINESS, empty))
    if result.uncompared:
        facts.append(("note", uncompared_text(*uncompared_places(result))))
    facts += [(name, tag_text(result.tags, name)) for name in result.tags]
    return [[short_name(name), message(value)] for name, value in facts]


def _attempt(case: _Shown, attempt: Attempt) -> dict[str, Json]:
    """Return one output: its error, its failure, failed gates, fields, rows, counts, and its text."""
    result = case.result
    data: dict[str, Json] = {}
    if len(result.attempts) > 1:
        data["title"] = f"Repeat {attempt.index + 1} of {len(result.attempts)}: {outcome_text(attempt.outcome)}"
        data["bounds"] = [message(breach.message) for breach in attempt.breaches[:_MOST_TEXTS]]
    if attempt.error is not None:
        data["error"] = "\n".join(first_of([*map(message, attempt.error.splitlines())], _MOST_TEXTS, "line"))
    if attempt.score is not None:
        data |= _score(case, attempt.score, attempt.output)
    data["notes"] = [f"Note: {message(note)}" for note in attempt.notes[:_MOST_TEXTS]]
    if attempt.output is not None and attempt.outcome is not Outcome.PASSED:
        data["output"] = _output(attempt)
    return data


def _output(attempt: Attempt) -> dict[str, Json]:
    """Return the raw output, and the offset of the place at which it could not be read."""
    output = attempt.output
    text = output if isinstance(output, str) else json.dumps(output, indent=1, ensure_ascii=False, default=repr)
    failure = None if attempt.score is None else attempt.score.failure
    start = 0
    data: dict[str, Json] = {}
    if failure is not None and failure.line and isinstance(output, str):
        rows = text.split("\n")
        at = sum(len(row) + 1 for row in rows[: failure.line - 1]) + (failure.column or 1) - 1
        start = max(0, min(at, len(text)) - _MOST_OUTPUT // 2)
        data["at"] = min(at, len(text)) - start
    data["text"] = document_text(text[start : start + _MOST_OUTPUT])
    left = len(text) - len(text[start : start + _MOST_OUTPUT])
    if left:
        data["left"] = f"{plural(left, 'more character')} in the results file"
    return data


def _score(case: _Shown, score: ScoreRecord, output: object) -> dict[str, Json]:
    if score.failure is not None and not score.readable:
        return {"failure": styled_lines(output_lines(score.failure, output, _TEXT_WIDTH))}
    counted, excused = split_known(score, case.result.known)
    bad = findings_of(counted, mistakes=score.mistakes)
    around = {each for path in case.worse for each in places_around(path)}
    was_right = [
        any(str(path) in (around if item.stands_for > 1 else case.worse) for path in item.paths) for item in bad
    ]
    first = sorted(zip(bad, was_right, strict=True), key=lambda item: not item[1])  # stable: worst first among both
    data: dict[str, Json] = {
        "gates": [
            *([f"{gate.name} gate", message(gate.why)] for gate in score.gates.failed),
            *(
                [f"rule, {str(rule.status).replace('_', ' ')}", message(f"{rule.name}: {rule.message}")]
                for rule in score.rules
                if rule.status is not RuleStatus.HELD
            ),
        ],
        "fields": [_field(case, item, was_right=right) for item, right in first[:MOST_FIELDS]],
        "counts": f"{counts_text(counted, excused, score)}.",
    }
    left = sum(item.stands_for for item, _ in first[MOST_FIELDS:])
    if left:
        data["more"] = f"… {plural(left, 'more failing field')}; the results file has them."
    if excused and (excused_bad := findings_of(excused, folded=False)):
        data["known"] = [_field(case, item) for item in excused_bad[:MOST_FIELDS]]
    if bad:
        data["rows"] = list(_row_tables(counted))
    if case.matches:
        data["matches"] = [_match(case, item) for item in counted if item.status is Status.MATCH][:MOST_MATCHES]
    return data


def _field(case: _Shown, finding: Finding, *, was_right: bool = False) -> dict[str, Json]:
    """Return a failing comparison: path, status, metric, both values, notes, and where the values stand.

    `was_right`: in what the run is compared with, it or one of the fields that the finding sums up was right.
    """
    item = finding.result
    both = side_by_side(item.gold, item.extracted, VALUE_WIDTH)
    data: dict[str, Json] = {
        "p": short_name(str(item.path)),
        "s": str(item.status),
        "m": short_name(metric_label(item)),
        "n": _notes(finding, both),
    }
    if item.status is not Status.MISMATCH or item.gold is not MISSING or item.extracted is not MISSING:
        data["g"] = None if item.gold is MISSING else styled(both.gold)
        data["x"] = None if item.extracted is MISSING else styled(both.extracted)
    if was_right:
        data["w"] = "right before"
    before = case.worse.get(str(item.path)) if was_right else None
    if before is not None:
        data["b"] = None if before.value_before is MISSING else show(before.value_before, VALUE_WIDTH)
    return data | _places(case.evidence, item)


def _places(evidence: PageDocument | None, item: FieldResult) -> dict[str, Json]:
    data: dict[str, Json] = {}
    for key, value in (("eg", item.gold), ("ex", item.extracted)) if evidence is not None else ():
        assert evidence is not None  # noqa: S101 - the condition above
        found, count = evidence.places_of(value)
        if found:
            data |= {key: found, f"{key}n": count}
        elif evidence.is_complete and type(value) in (str, int, float) and value != "":
            data[key] = []
            if (nearest := evidence.nearest_to(value)) is not None:
                data[f"{key}~"] = [*nearest]
    return data


def _notes(finding: Finding, both: SideBySide) -> list[Json]:
    """Return what the diff in the terminal says of a finding, without the marks that both values have here."""
    difference = () if both.marked else inner_difference(finding.result, VALUE_WIDTH, most=_MOST_INNER_CHANGES)
    seen = both.marked or bool(difference)
    return [styled(note) for note in finding_notes(finding, difference, seen=seen, cite=True, width=MESSAGE)]


def _match(case: _Shown, item: FieldResult) -> list[Json]:
    places, _count = ([], 0) if case.evidence is None else case.evidence.places_of(item.gold)
    return [short_name(str(item.path)), show(item.gold, _CELL_WIDTH * 2), *([places] if places else [])]


# --- rows as they were matched


def _row_tables(counted: Sequence[FieldResult]) -> Iterator[dict[str, Json]]:
    """Yield a table for each array of objects with differences: gold row, extracted row, and their values."""
    arrays: dict[tuple[Step, ...], dict[int, list[FieldResult]]] = {}
    for item in counted:
        at = next((index for index in range(len(item.path) - 2, -1, -1) if isinstance(item.path[index], int)), None)
        if at is not None:
            arrays.setdefault(item.path[:at], {}).setdefault(int(item.path[at]), []).append(item)
    wrong = ((place, rows) for place, rows in arrays.items() if any(map(_is_wrong, rows.values())))
    for place, rows in islice(wrong, _MOST_ARRAYS):
        yield _row_table(place, rows)


def _is_wrong(row: Iterable[FieldResult]) -> bool:
    return any(item.status in FAILED for item in row)


def _row_table(place: tuple[Step, ...], members: Mapping[int, Sequence[FieldResult]]) -> dict[str, Json]:
    bad = {index: items for index, items in members.items() if _is_wrong(items)}
    size = len(place) + 1
    columns = list(dict.fromkeys(str(FieldPath(item.path[size:])) for items in bad.values() for item in items))
    rows: list[Json] = []
    for index, items in sorted(bad.items(), key=lambda each: (each[0] < 0, abs(each[0])))[:_MOST_ROWS]:
        matched = next((item.matched for item in items if item.matched and len(item.matched) >= size), None)
        other = index if matched is None else matched[size - 1]
        is_missing = {item.status for item in items} == {Status.OMISSION}
        cells: dict[str, Json] = {}
        for item in items:
            sides = [None if side is MISSING else show(side, _CELL_WIDTH) for side in (item.gold, item.extracted)]
            cells[str(FieldPath(item.path[size:]))] = [str(item.status), *sides]
        shown = [cells.get(name) for name in columns[:_MOST_COLUMNS]]
        rows.append([None if index < 0 else index, None if is_missing else other, shown])
    left_out = (
        (len(members) - len(bad), "more row agrees", "more rows agree"),
        (len(bad) - _MOST_ROWS, "more row with differences", "more rows with differences"),
        (len(columns) - _MOST_COLUMNS, "more field of each row", "more fields of each row"),
    )
    notes = [plural(count, one, several) for count, one, several in left_out if count > 0]
    names = [short_name(each) for each in columns[:_MOST_COLUMNS]]
    return {"p": short_name(str(FieldPath(place))), "c": names, "r": rows, "n": ", ".join(notes)}
