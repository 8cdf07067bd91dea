"""What is doubtful about cases and golds although they can run, and what golds leave untested: for `check`.

Each rule yields findings. `--mutate` finds the changes of golds, as a model's mistakes make them, that metrics and
thresholds would let pass; `--coverage` the parts of a schema that no gold exercises, so that nobody knows how they are
extracted. Nothing is extracted, and no judge or model is asked.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.edit import gold_source
from pytest_extract.cases.keys import EDITOR_SCHEMA
from pytest_extract.cases.model import Case
from pytest_extract.cases.patterns import declared, has_value, is_skipped, values_at
from pytest_extract.cases.sources import Mistake, errors_of
from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.results import Failure, FailureKind, Status
from pytest_extract.core.schema.annotations import Dialect
from pytest_extract.core.schema.conformance import Conformance
from pytest_extract.core.schema.source import Key
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.values import (
    MISSING,
    ROOT,
    FieldPath,
    Json,
    Missing,
    canonical_json,
    iter_leaves,
    path_below,
    pattern_of,
)
from pytest_extract.documents import DocumentError
from pytest_extract.documents.evidence import Evidence, TextLocation, find_evidence, more_rows
from pytest_extract.errors import CaseFileError, StoreError
from pytest_extract.extraction.recordings import CaseInputs, read_recording, recording_files
from pytest_extract.golds.changes import changed_leaves, replaced
from pytest_extract.report.lines import plural
from pytest_extract.report.values import show
from pytest_extract.run_case import Requirements, breaches_of, cannot_fail, cannot_fail_text, with_bounded_measures
from pytest_extract.systems import SYSTEM_OF_DIALECT, not_published

if TYPE_CHECKING:
    from pytest_extract.core.score import Score

Severity: TypeAlias = Literal["mistake", "warning"]
FindingKind: TypeAlias = Literal[
    "case_file",
    "uncompared",
    "undeclared",
    "cannot_pass",
    "cannot_fail",
    "key_not_unique",
    "duplicate_document",
    "different_golds",
    "unused_file",
    "unused_recording",
    "no_evidence",
    "missing_rows",
    "mutation",
]
DERIVED_SHARE: Final = 0.5
"""Share of a field's values, over all golds, from which on those that stand in no document are derived."""
LEAST_DERIVED: Final = 3
"""Fewest values that stand in no document and are derived."""
LONGEST_QUOTE: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing that is wrong or doubtful, with its place; `case` is the id of the case, "" where it is about a file.

    A mistake fails `pytest-extract check`; a warning does so with `--strict`.
    """

    kind: FindingKind
    severity: Severity
    error: CaseFileError
    case: str = ""

    def __str__(self) -> str:
        return str(self.error)

    def to_dict(self) -> dict[str, Json]:
        """Return the finding as JSON."""
        error = self.error
        place = {"file": str(error.path), "line": error.line, "column": error.column}
        return {"kind": self.kind, "severity": self.severity, **place, "case": self.case, "message": error.message}


def lint_cases(cases: Sequence[Case]) -> Iterator[LintFinding]:
    """Yield what is doubtful about cases, rule by rule; a case that is not read from files may be among them."""
    for case in cases:
        yield from _uncompared(case)
        yield from _thresholds(case)
        yield from _without_value(case)
        yield from _keys(case)
    yield from _shared_documents(cases)


def case_warning(case: Case, kind: FindingKind, message: str) -> LintFinding:
    """Return a warning at the line of a case."""
    error = CaseFileError(f"warning: {case.id}: {message}", path=case.path, line=case.line, column=1)
    return LintFinding(kind=kind, severity="warning", error=error, case=case.id)


def gold_findings(
    case: Case, kind: FindingKind, severity: Severity, found: Iterable[tuple[FieldPath, str]], *, on_key: bool = False
) -> Iterator[LintFinding]:
    """Yield findings at places of a case's gold."""
    found = list(found)
    if not found:
        return
    source = gold_source(case)
    start = "warning: " if severity == "warning" else ""
    mistakes = [Mistake(source, (*case.gold_steps, *path), f"{start}{message}", on_key) for path, message in found]
    for error in errors_of(mistakes, source.path):
        yield LintFinding(kind=kind, severity=severity, error=error, case=case.id)


def _uncompared(case: Case) -> Iterator[LintFinding]:
    """Warn of gold values that no comparison reaches; a case where they are most is no case."""
    if case.uncompared is not None:
        found = [(case.uncompared.first, str(case.uncompared))]
        yield from gold_findings(case, "uncompared", "warning", found, on_key=True)


def _thresholds(case: Case) -> Iterator[LintFinding]:
    """Warn of thresholds that the gold itself misses, and of a case that an output without any value passes."""
    bounds = Requirements.of(case, dt.date.today())  # noqa: DTZ011 - a known failure ends with the user's day
    missed = partial(breaches_of, bounds, cost_usd=0.0, latency_s=0.0)

    def score(output: Json) -> Score:
        scored = case.scorer.score(
            case.gold, output, modality=case.modality, gates=case.gates, accept=case.accept, absent=case.absent
        )
        return with_bounded_measures(scored, case.gold, case.thresholds)

    right = score(case.gold)
    if all(result.status is not Status.JUDGE_ERROR for result in right.leaves):
        for breach in missed(right):
            yield case_warning(case, "cannot_pass", f"no output can pass, as the gold itself fails: {breach.message}")
    no_json = Failure(kind=FailureKind.NO_JSON, message="")
    if not missed(case.scorer.failed(case.gold, no_json, case.score_options)):
        yield case_warning(case, "cannot_fail", "the thresholds cannot fail: an output without any JSON passes")
        return
    free = cannot_fail(case.scorer.program, case.thresholds)
    if free:
        yield case_warning(case, "cannot_fail", cannot_fail_text(free))
    idle = [f"`{name}: 0`" for name, bound in case.thresholds.measures.items() if bound <= 0]
    idle += [f"`fields: {{{name}: 0}}`" for name, bound in case.thresholds.fields.items() if bound <= 0]
    if idle:
        yield case_warning(case, "cannot_fail", f"a threshold of 0 bounds nothing: {', '.join(idle)}")
    if not has_value(case.gold, ROOT):
        return
    empty: Json = {} if isinstance(case.gold, dict) else [] if isinstance(case.gold, list) else None
    nothing = score(empty)
    undecided = any(result.status is Status.JUDGE_ERROR for result in nothing.leaves)
    if not undecided and not missed(nothing):
        shown = show(empty, 20)
        yield case_warning(
            case, "cannot_fail", f"the thresholds cannot fail on missing values: the output {shown} passes"
        )


def _without_value(case: Case) -> Iterator[LintFinding]:
    """Warn of a gold without any value, unless the case says that its fields must stay empty."""
    if not has_value(case.gold, ROOT) and not case.draft and "must" not in case.absent.values():
        meant = "say `absent: {$: must}` if the document has nothing to extract"
        found = [(FieldPath(()), f"the gold has no value, so that only an invented one can fail the case; {meant}")]
        yield from gold_findings(case, "cannot_fail", "warning", found)


def unordered_lists(cases: Iterable[Case]) -> list[str]:
    """Return the patterns of the lists of values that the cases' schemas compare in any order."""
    scorers = {id(case.scorer): case.scorer for case in cases}
    return sorted(
        {
            pattern
            for scorer in scorers.values()
            for pattern, node in scorer.program.patterns.items()
            if isinstance(node, Array) and node.align.mode == "multiset"
        }
    )


def names_of_ours(cases: Iterable[Case]) -> list[str]:
    """Return what the cases' schemas name in a published system's annotations that the system does not have."""
    scorers = {id(case.scorer): case.scorer for case in cases}
    places: dict[tuple[Dialect, str], dict[str, None]] = defaultdict(dict)
    for scorer in scorers.values():
        for dialect, name, pointer in not_published(scorer.schema, scorer.source["extensions"]):
            places[dialect, name][pointer or ROOT] = None
    return [
        f"`{name}` is ours, not {SYSTEM_OF_DIALECT[dialect]}'s, at {first}"
        + (f" and {plural(len(others), 'more place')}" if others else "")
        for (dialect, name), (first, *others) in places.items()
    ]


def _keys(case: Case) -> Iterator[LintFinding]:
    """Warn of rows that their key does not tell apart: which of them an extracted row belongs to is then a guess."""
    found = []
    for pattern, node in case.scorer.program.patterns.items():
        if not isinstance(node, Array) or node.align.mode != "key":
            continue
        name = " and ".join(f"`{key}`" for key in node.align.key)
        for path, rows in values_at(case.gold, pattern):
            seen: dict[str, int] = {}
            for index, row in enumerate(rows if isinstance(rows, list) else ()):
                key = [_inside(row, step) for step in node.align.key]
                text = canonical_json(key)
                place = FieldPath((*path, index))
                if all(part is None for part in key):
                    found.append((place, f"the row has no key: {name} is missing"))
                elif text in seen:
                    shown = show(key[0] if len(key) == 1 else key, 60)
                    found.append((place, f"the key {name} is not unique: row {seen[text]} has {shown} as well"))
                seen.setdefault(text, index)
    yield from gold_findings(case, "key_not_unique", "warning", found)


def _inside(row: Json, key: str) -> Json:
    return row.get(key) if isinstance(row, dict) else None


def _shared_documents(cases: Sequence[Case]) -> Iterator[LintFinding]:
    """Find documents with the same content: golds that differ are a mistake, equal ones say the same twice.

    Cases with another schema, question or prompt ask something else of the document.
    """
    same: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for case in cases:
        try:
            digest = case.document.sha256
        except (DocumentError, OSError):
            continue
        same[digest, case.schema_sha256, case.question or "", case.prompt.sha256 if case.prompt else ""].append(case)
    for first, *others in same.values():
        for other in others:
            difference = next(changed_leaves(first.gold, other.gold), None)
            if difference is None:
                message = f"the document is that of {first.id} ({first.path}:{first.line}), and so is the gold"
                yield case_warning(other, "duplicate_document", message)
                continue
            steps, here, there = difference
            message = (
                f"the document is that of {first.id} ({first.path}:{first.line}), whose gold has {show(here, 60)} "
                f"here, not {show(there, 60)}"
            )
            yield from gold_findings(other, "different_golds", "mistake", [(FieldPath(steps), message)])


def unused_files(cases: Iterable[Case], case_files: Iterable[Path]) -> Iterator[LintFinding]:
    """Warn of golds, schemas and prompts that no case names: files beside those that cases name, with their suffixes.

    `case_files` are all that there are, with the files of their `defaults`: a file that one of them names cannot be
    told from an unused one without it.
    """
    used: dict[str, dict[Path, None]] = {"gold": {}, "schema": {}, "prompt": {}}
    named: set[Path] = {path.resolve() for path in case_files}
    for case in cases:
        named.update(path.resolve() for path in case.schema_files)
        for role, path in (("gold", case.gold_path), ("schema", case.schema_path), ("prompt", _prompt_path(case))):
            if path is not None and path.resolve() not in named:
                used[role][path] = None
        if case.document.file is not None:
            named.add(Path(case.document.file).resolve())
    everything = named | {path.resolve() for paths in used.values() for path in paths}
    for role, paths in used.items():
        kinds = dict.fromkeys((path.parent, _suffixes(path)) for path in paths)
        for folder, suffixes in kinds:
            for path in sorted(folder.iterdir()):
                if path.resolve() in everything or not path.is_file() or _suffixes(path) != suffixes or _is_known(path):
                    continue
                everything.add(path.resolve())
                error = CaseFileError(f"warning: no case uses this {role}", path=path, line=1, column=1)
                yield LintFinding(kind="unused_file", severity="warning", error=error)


def unused_recordings(cases: Iterable[Case], folder: Path) -> Iterator[LintFinding]:
    """Warn of recordings below `folder` that no case can use any more.

    `cases` are all that there are; recordings name them from the current folder, which is pytest's rootdir.
    """
    files = list(recording_files(folder))
    if not files:
        return
    root = Path.cwd()
    known = CaseInputs(cases, root)
    for path in files:
        try:
            why = known.why_unused(read_recording(path))
        except StoreError as unreadable:
            why = f"it cannot be read: {unreadable}"
        if why is not None:
            message = f"warning: no case can use this recording: {why}; `pytest-extract recordings prune` removes it"
            error = CaseFileError(message, path=path, line=1, column=1)
            yield LintFinding(kind="unused_recording", severity="warning", error=error)


def _prompt_path(case: Case) -> Path | None:
    return None if case.prompt is None else case.prompt.path


def _suffixes(path: Path) -> str:
    """Return the suffixes that tell the role of a file: `.gold.json` of `acme.v2.gold.json`, `.md` of `a.md`."""
    return "".join(path.suffixes[-2:]) if len(path.suffixes) > 1 and path.suffixes[-2][1:].isalpha() else path.suffix


def _is_known(path: Path) -> bool:
    return path.name.startswith((".", "README")) or path.name == EDITOR_SCHEMA


class EvidenceReport(NamedTuple):
    """What the documents say of gold values: findings, and how many values stand in their documents, of how many.

    `derived`: values that stand nowhere and are no findings, as whoever writes golds makes them: a unit, a category.
    `without_text`: ids of the cases whose documents have no text.
    """

    findings: tuple[LintFinding, ...]
    found: int
    total: int
    derived: int
    without_text: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{self.found:,} of {self.total:,} gold values stand in their documents"]
        if self.derived:
            parts.append(f"{self.derived:,} are derived (units, categories and the like, which stand nowhere)")
        if self.without_text:
            documents = "1 document has" if len(self.without_text) == 1 else f"{len(self.without_text)} documents have"
            parts.append(f"{documents} no text (scans?)")
        return "; ".join(parts)


class _Unfound(NamedTuple):
    case: Case
    path: FieldPath
    pattern: str
    value: Json
    nearest: TextLocation | None


def check_evidence(cases: Iterable[Case]) -> EvidenceReport:
    """Look up the values of golds in their documents.

    Booleans, null, empty texts and skipped fields are not looked up. Values are derived where at least half the values
    of a field stand in no document, or all occurrences of one value under one key, and LEAST_DERIVED of them.
    """
    total: Counter[str] = Counter()
    labels: Counter[tuple[str, str]] = Counter()
    unfound: list[_Unfound] = []
    without_text: list[str] = []
    findings: list[LintFinding] = []
    for case in cases:
        try:
            for path, value, evidence in _looked_up(case):
                pattern = pattern_of(path)
                total[pattern] += 1
                labels[_label(path, value)] += 1
                if not evidence.found:
                    unfound.append(_Unfound(case, path, pattern, value, evidence.nearest))
            rows = [(path, f"{path} {text}") for path, text in more_rows(case.document, case.gold)]
            findings += gold_findings(case, "missing_rows", "warning", rows)
        except DocumentError:
            without_text.append(case.id)
        finally:
            case.document.release()
    absent = Counter(each.pattern for each in unfound)
    absent_labels = Counter(_label(each.path, each.value) for each in unfound)

    def is_derived(each: _Unfound) -> bool:
        label = _label(each.path, each.value)
        by_field = absent[each.pattern] >= max(LEAST_DERIVED, DERIVED_SHARE * total[each.pattern])
        return by_field or absent_labels[label] >= max(LEAST_DERIVED, labels[label])

    by_case: dict[int, list[_Unfound]] = defaultdict(list)
    for each in unfound:
        if not is_derived(each):
            by_case[id(each.case)].append(each)
    told = 0
    for group in by_case.values():
        places = [(each.path, _no_evidence_text(each)) for each in group]
        told += len(places)
        findings += gold_findings(group[0].case, "no_evidence", "warning", places)
    return EvidenceReport(
        findings=tuple(findings),
        found=sum(total.values()) - len(unfound),
        total=sum(total.values()),
        derived=len(unfound) - told,
        without_text=tuple(without_text),
    )


def _looked_up(case: Case) -> Iterator[tuple[FieldPath, Json, Evidence]]:
    """Yield every gold value that a text can show, and where it stands. Raises DocumentError."""
    skipped: dict[str, bool] = {}
    program = case.scorer.program
    for path, value in iter_leaves(case.gold):
        pattern = pattern_of(path)
        if pattern not in skipped:
            skipped[pattern] = declared(pattern, program) and is_skipped(pattern, program)
        evidence = None if skipped[pattern] else find_evidence(case.document, value, most=1)
        if evidence is not None:
            yield path, value, evidence


def _label(path: FieldPath, value: Json) -> tuple[str, str]:
    """Return the key that a value stands under, and the value."""
    return next((step for step in reversed(path) if isinstance(step, str)), ""), canonical_json(value)


def _no_evidence_text(unfound: _Unfound) -> str:
    nearest = unfound.nearest
    shown = f"{unfound.path} {show(unfound.value, LONGEST_QUOTE)} not found in the document"
    if nearest is None:
        return shown
    place = f"page {nearest.page}, line {nearest.line}" if nearest.page is not None else f"line {nearest.line}"
    return f"{shown}; nearest {show(nearest.quote, LONGEST_QUOTE)}, {place}"


# --- changes of golds that pass: one value of each field, and the rows of each list, are changed at a time, and the
# whole changed gold is scored as an output


def _edited(edit: Callable[[str], str]) -> Callable[[Json], Json]:
    """Change a text, or the digits of a number; what is no text or number any more stays as it is."""

    def change(value: Json) -> Json:
        if isinstance(value, str):
            return edit(value)
        try:
            return type(value)(edit(str(value)))
        except ValueError:
            return value

    return change


def _next_digit(text: str) -> str:
    at = max((at for at, each in enumerate(text) if each.isdecimal()), default=None)
    return text if at is None else f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"


def _swapped_digits(text: str) -> str:
    for at in range(len(text) - 1, 0, -1):
        if text[at - 1 : at + 1].isdecimal() and text[at - 1] != text[at]:
            return f"{text[: at - 1]}{text[at]}{text[at - 1]}{text[at + 1 :]}"
    return text


WIDTH: Final = 50
"""Characters of a value that a warning shows."""
Change = Callable[[Json], Json]
_OF_TEXTS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "another digit": _edited(_next_digit),
        "two digits swapped": _edited(_swapped_digits),
        "cut in half": lambda text: text[: len(text) // 2],
        "a word lost": lambda text: text.rpartition(" ")[0] or text,
        "another text": lambda _: "something else",
    }
)
_OF_NUMBERS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "another digit": _edited(_next_digit),
        "two digits swapped": _edited(_swapped_digits),
        "ten times": lambda number: number * 10,
        "another sign": lambda number: -number,
    }
)
_OF_BOOLEANS: Final[Mapping[str, Change]] = MappingProxyType({"the other one": lambda truth: not truth})
_OF_LISTS: Final[Mapping[str, Change]] = MappingProxyType(
    {
        "a row lost": lambda rows: rows[:-1],
        "a row twice": lambda rows: [*rows, rows[-1]],
        "the second half lost": lambda rows: rows[: (len(rows) + 1) // 2],
    }
)


def _changes_of(value: Json) -> Mapping[str, Change]:
    if isinstance(value, bool):
        return _OF_BOOLEANS
    if isinstance(value, int | float):
        return _OF_NUMBERS
    return _OF_TEXTS if isinstance(value, str) else _OF_LISTS


class PassedChange(NamedTuple):
    """A changed gold that passes its case: the change, both values, the case, and whether the metric accepts it.

    `accepted` is False where the comparison fails, and the thresholds tolerate that.
    """

    change: str
    gold: Json
    changed: Json
    case: Case
    accepted: bool


@dataclass(slots=True)
class FieldChanges:
    """The changes of one field over all golds: how many were tried and decided, and those that pass."""

    tried: int = 0
    undecided: int = 0
    passed: list[PassedChange] = field(default_factory=list)


def _nothing(_value: Json) -> None:
    """Lose the value."""


def mutate_golds(cases: Iterable[Case]) -> dict[str, FieldChanges]:
    """Return, by field, which changes of golds pass. The same golds give the same changes.

    Of each field of a case its first value is changed, and of each list of rows its rows.
    """
    fields: dict[str, FieldChanges] = defaultdict(FieldChanges)
    for case in cases:
        bounds = Requirements.of(case, dt.date.today())  # noqa: DTZ011 - a known failure ends with the user's day
        for pattern, path, value in _first_values(case):
            for name, change in ({**_changes_of(value), "nothing": _nothing}).items():
                changed = change(value)
                if canonical_json(changed) == canonical_json(value):
                    continue
                score = case.scorer.score(case.gold, replaced(case.gold, path, changed), case.score_options)
                if any(result.status is Status.JUDGE_ERROR for result in score.leaves):
                    fields[pattern].undecided += 1
                    continue
                fields[pattern].tried += 1
                score = with_bounded_measures(score, case.gold, case.thresholds)
                if not breaches_of(bounds, score, cost_usd=0.0, latency_s=0.0):
                    accepted = all(result.passed for result in score.leaves)
                    fields[pattern].passed.append(PassedChange(name, value, changed, case, accepted))
    return dict(fields)


def mutation_findings(cases: Iterable[Case]) -> Iterator[LintFinding]:
    """Warn of each field of which some changed values pass their case, with the first of them and what would help."""
    for pattern, each in mutate_golds(cases).items():
        if not each.passed:
            continue
        first = each.passed[0]
        names = ", ".join(dict.fromkeys(passed.change for passed in each.passed))
        remedy = (
            "a stricter metric in the schema or in `overrides` would fail them"
            if first.accepted
            else f'`thresholds: {{fields: {{"{pattern}": 1.0}}}}` would fail them'
        )
        undecided = f"; {each.undecided} need a judge" if each.undecided else ""
        yield case_warning(
            first.case,
            "mutation",
            f"`{pattern}`: {len(each.passed)} of {each.tried} changes of its gold pass ({names}), such as "
            f"{show(first.changed, WIDTH)} for {show(first.gold, WIDTH)}; {remedy}{undecided}",
        )


def _first_values(case: Case) -> Iterator[tuple[str, tuple[str | int, ...], Json]]:
    """Yield pattern, path and value of the first value of each field, and of each list that is not empty."""
    seen: set[str] = set()
    program = case.scorer.program
    for path, _ in iter_leaves(case.gold):
        places = [path[:size] for size, step in enumerate(path) if isinstance(step, int)]
        for place in (*places, tuple(path)):
            pattern = pattern_of(place)
            inner = case.gold
            for step in place:
                inner = inner[step]
            skipped = declared(pattern, program) and is_skipped(pattern, program)
            if pattern not in seen and inner is not None and inner not in ("", [], {}) and not skipped:
                seen.add(pattern)
                yield pattern, tuple(place), inner


# --- parts of a schema that no gold exercises

DEEPEST: Final = 12
"""Levels of a schema that are looked into; a recursive schema has no end."""
MOST_MEMBERS: Final = 100
"""Members of an enumeration that count; a longer one is a list of codes, of which no suite has all."""


class SchemaState(NamedTuple):
    """One thing that golds can exercise: a state of a field, in words (`a value`, `absent`, `empty`, `"EUR"`, ...)."""

    pattern: str
    state: str
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCoverage:
    """What the golds of one schema exercise. `golds`: their number."""

    path: Path
    golds: int
    states: tuple[SchemaState, ...]

    @property
    def covered(self) -> int:
        """States that some gold has."""
        return sum(state.covered for state in self.states)

    @property
    def share(self) -> float:
        """Covered states over all states; 1.0 for a schema without any."""
        return self.covered / len(self.states) if self.states else 1.0

    def to_dict(self) -> dict[str, Json]:
        """Return the coverage as JSON."""
        counts: dict[str, Json] = {"golds": self.golds, "states": len(self.states), "covered": self.covered}
        return {"kind": "coverage", "file": str(self.path), "share": self.share, **counts, "missing": self.missing}

    @property
    def missing(self) -> dict[str, list[str]]:
        """Pattern -> states that no gold has; what is below a field without any value is left out."""
        found: dict[str, list[str]] = {}
        for state in self.states:
            if not state.covered and not any(
                _is_below(state.pattern, other) for other in found if "a value" in found[other]
            ):
                found.setdefault(state.pattern, []).append(state.state)
        return found


def _is_below(pattern: str, other: str) -> bool:
    return pattern.startswith((f"{other}.", f"{other}["))


def schema_coverage(cases: Iterable[Case]) -> list[SchemaCoverage]:
    """Return the coverage of each schema of the cases, in their order; a gold that cases share counts once."""
    golds: dict[str, dict[str, Json]] = {}
    schemas: dict[str, tuple[Path, Json]] = {}
    for case in cases:
        if not case.gold_is_missing:
            schemas.setdefault(case.schema_sha256, (case.schema_path, case.schema))
            golds.setdefault(case.schema_sha256, {})[f"{case.gold_path} {case.gold_steps} {case.gold_line}"] = case.gold
    found = []
    for digest, (path, schema) in schemas.items():
        values = [*golds[digest].values()]
        states = tuple(_SchemaWalk(schema).states(Schema.root, ROOT, values, optional=False, depth=0))
        found.append(SchemaCoverage(path=path, golds=len(values), states=states))
    return found


class _SchemaWalk:
    """Walks a schema together with all values that golds have at each of its places."""

    def __init__(self, schema: Json) -> None:
        self._tree = Schema(schema)
        self._fits = Conformance(self._tree)

    def states(
        self, key: Key, pattern: str, values: Sequence[Json | Missing], *, optional: bool, depth: int
    ) -> Iterator[SchemaState]:
        """Yield the states of a place and of what is below it."""
        node = self._tree.node(key)
        if depth > DEEPEST or (node.annotation is not None and node.annotation.skip):
            return
        there = [value for value in values if value is not MISSING and value is not None]
        if pattern != ROOT:
            yield SchemaState(pattern, "a value", bool(there))
            if optional or node.nullable:
                yield SchemaState(pattern, "absent", len(there) < len(values))
        yield from self._own_states(node, pattern, there)
        for number, branch in enumerate(node.branches):
            fitting = [value for value in there if self._branch(node, value) == number]
            yield SchemaState(pattern, f"alternative {number + 1} of {len(node.branches)}", bool(fitting))
            yield from (
                state
                for state in self.states(branch, pattern, fitting, optional=False, depth=depth + 1)
                if state.pattern != pattern or state.state not in ("a value", "absent")
            )
        for name, child in node.properties.items():
            inner = [value.get(name, MISSING) for value in there if isinstance(value, dict)]
            at = path_below(pattern, name)
            yield from self.states(child, at, inner, optional=name not in node.required, depth=depth + 1)
        if node.items is not None:
            rows = [row for value in there if isinstance(value, list) for row in value]
            yield from self.states(node.items, path_below(pattern, None), rows, optional=False, depth=depth + 1)

    def _own_states(self, node: SchemaNode, pattern: str, there: Sequence[Json]) -> Iterator[SchemaState]:
        if node.values is not None and len(node.values) <= MOST_MEMBERS:
            seen = {canonical_json(value) for value in there}
            for member in node.values:
                if member is not None:
                    yield SchemaState(pattern, show(member, 40), canonical_json(member) in seen)
        elif node.types == ("boolean",):
            yield SchemaState(pattern, "true", any(value is True for value in there))
            yield SchemaState(pattern, "false", any(value is False for value in there))
        if node.types == ("array",):
            sizes = [len(value) for value in there if isinstance(value, list)]
            yield SchemaState(pattern, "empty", 0 in sizes)
            yield SchemaState(pattern, "two or more", any(size > 1 for size in sizes))

    def _branch(self, node: SchemaNode, value: Json) -> int:
        fitting = (number for number, branch in enumerate(node.branches) if self._fits(self._tree.node(branch), value))
        return next(fitting, -1)
