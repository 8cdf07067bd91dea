"""What is doubtful about cases and golds although they can run, and what golds leave untested: for `check`.

Each rule yields findings. `--mutate` finds the changes of golds, as a model's mistakes make them, that metrics and
thresholds would let pass; `--coverage` the parts of a schema that no gold exercises, so that nobody knows how they are
extracted. Nothing is extracted, and no judge or model is asked.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.edit import gold_source
from pytest_extract.cases.model import EDITOR_SCHEMA, Case
from pytest_extract.cases.schemas import has_value, is_skipped, values_at
from pytest_extract.cases.sources import Mistake, Steps, errors_of
from pytest_extract.core.compile.nodes import Array
from pytest_extract.core.results import Failure, FailureKind, Status
from pytest_extract.core.schema.annotations import Dialect
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
    replaced,
    value_at,
)
from pytest_extract.core.words import listed, plural
from pytest_extract.documents import DocumentError
from pytest_extract.documents.evidence import Evidence, find_evidence, more_rows
from pytest_extract.errors import CaseFileError, StoreError
from pytest_extract.extraction.recordings import Recording, read_recording, recording_files, unused_recordings
from pytest_extract.golds.changes import LEAST_DERIVED, changed_leaves
from pytest_extract.report.lines import show
from pytest_extract.run_case import Requirements, breaches_of, cannot_fail, with_bounded_measures
from pytest_extract.systems import SYSTEM_OF_DIALECT, not_published

if TYPE_CHECKING:
    from pytest_extract.core.case_result import Breach
    from pytest_extract.core.scorer import Score

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
    "unreadable_recording",
    "no_evidence",
    "missing_rows",
    "mutation",
]
_MISTAKES: Final = frozenset({"case_file", "undeclared", "different_golds"})
"""Kinds that fail `pytest-extract check`; all others are warnings, which do so with `--strict`."""
LONGEST_QUOTE: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing that is wrong or doubtful, with its place; `case`: id of the case, "" where it is about a file."""

    kind: FindingKind
    error: CaseFileError
    case: str = ""

    @property
    def severity(self) -> Literal["mistake", "warning"]:
        """How bad it is."""
        return "mistake" if self.kind in _MISTAKES else "warning"

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
        if case.uncompared is not None:  # a case where most values are is no case
            found = [(case.uncompared.first, str(case.uncompared))]
            yield from gold_findings(case, "uncompared", found, on_key=True)
        yield from _thresholds(case)
        if not has_value(case.gold, ROOT) and not case.draft and "must" not in case.absent.values():
            meant = "say `absent: {$: must}` if the document has nothing to extract"
            found = [(FieldPath(()), f"the gold has no value, so that only an invented one can fail the case; {meant}")]
            yield from gold_findings(case, "cannot_fail", found)
        yield from _keys(case)
    yield from _shared_documents(cases)


def _file_warning(kind: FindingKind, message: str, path: Path, line: int = 1, case: str = "") -> LintFinding:
    error = CaseFileError(f"warning: {message}", path=path, line=line, column=1)
    return LintFinding(kind=kind, error=error, case=case)


def _case_warning(case: Case, kind: FindingKind, message: str) -> LintFinding:
    """Return a warning at the line of a case."""
    return _file_warning(kind, f"{case.id}: {message}", case.path, case.line, case.id)


def gold_findings(
    case: Case, kind: FindingKind, found: Iterable[tuple[FieldPath, str]], *, on_key: bool = False
) -> Iterator[LintFinding]:
    """Yield findings at places of a case's gold."""
    found = list(found)
    if not found:
        return
    source = gold_source(case)
    start = "" if kind in _MISTAKES else "warning: "
    mistakes = [Mistake(source, (*case.gold_steps, *path), f"{start}{message}", on_key) for path, message in found]
    for error in errors_of(mistakes, source.path):
        yield LintFinding(kind=kind, error=error, case=case.id)


def _scored(case: Case, output: Json) -> Score | None:
    """Score a value as an output of its case; None where only a judge could say."""
    score = case.scorer.score(case.gold, output, replace(case.score_options, confidence=None))
    if any(result.status is Status.JUDGE_ERROR for result in score.leaves):
        return None
    return with_bounded_measures(score, case.gold, case.thresholds)


def _missed(case: Case, score: Score | None) -> tuple[Breach, ...]:
    """Return the bounds of a case that an output misses."""
    bounds = Requirements.of(case, dt.date.today())  # noqa: DTZ011 - a known failure ends with the user's day
    return () if score is None else breaches_of(bounds, score, cost_usd=0.0, latency_s=0.0)


def _thresholds(case: Case) -> Iterator[LintFinding]:
    """Warn of thresholds that the gold itself misses, and of a case that an output without any value passes."""
    for breach in _missed(case, _scored(case, case.gold)):
        yield _case_warning(case, "cannot_pass", f"no output can pass, as the gold itself fails: {breach.message}")
    no_json = Failure(kind=FailureKind.NO_JSON, message="")
    if not _missed(case, case.scorer.failed(case.gold, no_json, case.score_options)):
        yield _case_warning(case, "cannot_fail", "the thresholds cannot fail: an output without any JSON passes")
        return
    free = [f"`{pattern}`" for pattern in cannot_fail(case.scorer.program, case.thresholds)]
    if free:
        told = f"no wrong value of {plural(len(free), 'field')} can fail a case: {listed(free)}"
        yield _case_warning(case, "cannot_fail", told)
    idle = [f"`{name}: 0`" for name, bound in case.thresholds.measures.items() if bound <= 0]
    idle += [f"`fields: {{{name}: 0}}`" for name, bound in case.thresholds.fields.items() if bound <= 0]
    if idle:
        yield _case_warning(case, "cannot_fail", f"a threshold of 0 bounds nothing: {', '.join(idle)}")
    empty: Json = {} if isinstance(case.gold, dict) else [] if isinstance(case.gold, list) else None
    nothing = _scored(case, empty) if has_value(case.gold, ROOT) else None
    if nothing is not None and not _missed(case, nothing):
        text = f"the thresholds cannot fail on missing values: the output {show(empty, 20)} passes"
        yield _case_warning(case, "cannot_fail", text)


def unordered_lists(cases: Iterable[Case]) -> list[str]:
    """Return the patterns of the lists of values that the cases' schemas compare in any order."""
    found = (item for scorer in {case.scorer for case in cases} for item in scorer.program.patterns.items())
    return sorted({pattern for pattern, node in found if isinstance(node, Array) and node.align.mode == "multiset"})


def names_of_ours(cases: Iterable[Case]) -> list[str]:
    """Return what the cases' schemas name in a published system's annotations that the system does not have."""
    places: dict[tuple[Dialect, str], dict[str, None]] = defaultdict(dict)
    for scorer in dict.fromkeys(case.scorer for case in cases):
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
                key = [row.get(step) if isinstance(row, dict) else None for step in node.align.key]
                text = canonical_json(key)
                place = FieldPath((*path, index))
                if all(part is None for part in key):
                    found.append((place, f"the row has no key: {name} is missing"))
                elif text in seen:
                    shown = show(key[0] if len(key) == 1 else key, 60)
                    found.append((place, f"the key {name} is not unique: row {seen[text]} has {shown} as well"))
                seen.setdefault(text, index)
    yield from gold_findings(case, "key_not_unique", found)


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
        told = f"the document is that of {first.id} ({first.path}:{first.line}),"
        for other in others:
            difference = next(changed_leaves(first.gold, other.gold), None)
            if difference is None:
                yield _case_warning(other, "duplicate_document", f"{told} and so is the gold")
                continue
            steps, here, there = difference
            message = f"{told} whose gold has {show(here, 60)} here, not {show(there, 60)}"
            yield from gold_findings(other, "different_golds", [(FieldPath(steps), message)])


def unused_files(cases: Iterable[Case], case_files: Iterable[Path]) -> Iterator[LintFinding]:
    """Warn of golds, schemas and prompts that no case names: files beside those that cases name, with their suffixes.

    `case_files` are all that there are, with the files of their `defaults`: a file that one of them names cannot be
    told from an unused one without it.
    """
    used: dict[tuple[str, Path], None] = {}
    own = {path.resolve() for path in case_files}
    named = {*own}
    for case in cases:
        used |= dict.fromkeys([("gold", case.gold_path), ("schema", case.schema_path)])
        if case.prompt is not None and case.prompt.path is not None:
            used["prompt", case.prompt.path] = None
        others = [*case.schema_files, *([] if case.document.file is None else [Path(case.document.file)])]
        named |= {path.resolve() for path in others}
    named |= {path.resolve() for _, path in used}
    outside = [(role, path) for role, path in used if role == "schema" or path.resolve() not in own]
    for role, folder, suffixes in dict.fromkeys((role, path.parent, _suffixes(path)) for role, path in outside):
        for path in sorted(folder.iterdir()):
            is_known = path.name.startswith((".", "README")) or path.name == EDITOR_SCHEMA or path.resolve() in named
            if not is_known and path.is_file() and _suffixes(path) == suffixes:
                named.add(path.resolve())
                yield _file_warning("unused_file", f"no case uses this {role}", path)


def check_recordings(cases: Iterable[Case], folder: Path) -> Iterator[LintFinding]:
    """Warn of recordings below `folder` that no case can use any more, or nobody can read.

    `cases` are all that there are; recordings name them from the current folder, which is pytest's rootdir.
    """
    recordings: list[Recording] = []
    for path in recording_files(folder):
        try:
            recordings.append(read_recording(path))
        except StoreError as error:
            yield _file_warning("unreadable_recording", str(error), path)
    if not recordings:
        return  # no document need be read, or altered
    for recording in unused_recordings(recordings, cases, Path.cwd()):
        message = "no case has the document, schema, question and prompt of this recording any more"
        yield _file_warning("unused_recording", message, recording.path)


def _suffixes(path: Path) -> str:
    """Return the suffixes that tell the role of a file: `.gold.json` of `acme.v2.gold.json`, `.md` of `a.md`."""
    return "".join(path.suffixes[-2:]) if len(path.suffixes) > 1 and path.suffixes[-2][1:].isalpha() else path.suffix


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
            documents = plural(len(self.without_text), "document has", "documents have")
            parts.append(f"{documents} no text (scans?)")
        return "; ".join(parts)


class _LookedUp(NamedTuple):
    """A gold value that a text can show, and where it stands."""

    case: Case
    path: FieldPath
    value: Json
    evidence: Evidence


def check_evidence(cases: Iterable[Case]) -> EvidenceReport:
    """Look up the values of golds in their documents.

    Booleans, null, empty texts and skipped fields are not looked up. Values are derived where at least half the values
    of a field stand in no document, and LEAST_DERIVED of them.
    """
    values: list[_LookedUp] = []
    without_text: list[str] = []
    findings: list[LintFinding] = []
    for case in cases:
        try:
            for path, value in iter_leaves(case.gold):
                if not is_skipped(pattern_of(path), case.scorer.program):
                    evidence = find_evidence(case.document, value, most=1)
                    values += [] if evidence is None else [_LookedUp(case, path, value, evidence)]
            rows = [(path, f"{path} {text}") for path, text in more_rows(case.document, case.gold)]
            findings += gold_findings(case, "missing_rows", rows)
        except DocumentError:
            without_text.append(case.id)
        finally:
            case.document.release()
    unfound = [each for each in values if not each.evidence.found]
    total, absent = (Counter(pattern_of(each.path) for each in group) for group in (values, unfound))
    derived = {pattern for pattern, count in absent.items() if count >= max(LEAST_DERIVED, total[pattern] / 2)}
    told = [each for each in unfound if pattern_of(each.path) not in derived]
    for _, group in groupby(told, key=lambda each: id(each.case)):
        places, texts = [*group], []
        for each in places:
            nearest = each.evidence.nearest
            near = "" if nearest is None else f"; nearest {show(nearest.quote, LONGEST_QUOTE)}, {nearest}"
            texts.append((each.path, f"{each.path} {show(each.value, LONGEST_QUOTE)} not found in the document{near}"))
        findings += gold_findings(places[0].case, "no_evidence", texts)
    return EvidenceReport(
        findings=tuple(findings),
        found=len(values) - len(unfound),
        total=len(values),
        derived=len(unfound) - len(told),
        without_text=tuple(without_text),
    )


# --- changes of golds that pass: one value of each field, and the rows of each list, are changed at a time, and the
# whole changed gold is scored as an output


_WIDTH: Final = 50
"""Characters of a value that a warning shows."""


def _changes_of(value: Json) -> Iterator[tuple[str, Json]]:
    """Yield what a model's mistakes would make of a value, each with its name."""
    if isinstance(value, bool):
        yield "the other one", not value
    elif isinstance(value, list):
        yield "a row lost", value[:-1]
        yield "a row twice", [*value, value[-1]]
        yield "the second half lost", value[: (len(value) + 1) // 2]
    else:
        text, kind = str(value), type(value)
        digits = [at for at, each in enumerate(text) if each.isdecimal()]
        if digits:
            at = digits[-1]
            yield "another digit", kind(f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}")
        swaps = [at for at in digits if at - 1 in digits and text[at - 1] != text[at]]
        if swaps:
            at = swaps[-1]
            yield "two digits swapped", kind(f"{text[: at - 1]}{text[at]}{text[at - 1]}{text[at + 1 :]}")
        if isinstance(value, str):
            yield "cut in half", text[: len(text) // 2]
            yield "a word lost", text.rpartition(" ")[0] or text
            yield "another text", "something else"
        else:
            yield "ten times", value * 10
            yield "another sign", -value
    yield "nothing", None


def mutation_findings(cases: Iterable[Case]) -> Iterator[LintFinding]:
    """Warn of each field of which some changed values pass their case, with the first of them and what would help.

    Of each field of a case its first value is changed, and of each list of rows its rows.
    """
    tried: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    passed: dict[str, list[str]] = defaultdict(list)
    first: dict[str, tuple[Case, str, str]] = {}
    for case in cases:
        for pattern, path, value in _first_values(case):
            for name, changed in _changes_of(value):
                if canonical_json(changed) == canonical_json(value):
                    continue
                score = _scored(case, replaced(case.gold, path, changed))
                tried[pattern] += score is not None
                undecided[pattern] += score is None
                if score is None or _missed(case, score):
                    continue
                passed[pattern].append(name)
                remedy = f'`thresholds: {{fields: {{"{pattern}": 1.0}}}}` would fail them'
                if all(result.passed for result in score.leaves):
                    remedy = "a stricter metric in the schema or in `overrides` would fail them"
                first.setdefault(pattern, (case, f"{show(changed, _WIDTH)} for {show(value, _WIDTH)}", remedy))
    for pattern, (case, example, remedy) in first.items():
        names = ", ".join(dict.fromkeys(passed[pattern]))
        judged = f"; {undecided[pattern]} need a judge" if undecided[pattern] else ""
        changes = f"`{pattern}`: {len(passed[pattern])} of {tried[pattern]} changes of its gold pass ({names})"
        yield _case_warning(case, "mutation", f"{changes}, such as {example}; {remedy}{judged}")


def _first_values(case: Case) -> Iterator[tuple[str, Steps, Json]]:
    """Yield pattern, path and value of the first value of each field, and of each list that is not empty."""
    seen: set[str] = set()
    for path, _ in iter_leaves(case.gold):
        lists = [path[:size] for size, step in enumerate(path) if isinstance(step, int)]
        for place in (*lists, tuple(path)):
            pattern, value = pattern_of(place), value_at(case.gold, place)
            if pattern not in seen and value not in (None, "") and not is_skipped(pattern, case.scorer.program):
                seen.add(pattern)
                yield pattern, place, value


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


class SchemaCoverage(NamedTuple):
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
        empty: tuple[str, ...] = ()
        for state in self.states:
            if not state.covered and not state.pattern.startswith(empty):
                found.setdefault(state.pattern, []).append(state.state)
                if state.state == "a value":
                    empty = (*empty, f"{state.pattern}.", f"{state.pattern}[")
        return found


def schema_coverage(cases: Iterable[Case]) -> list[SchemaCoverage]:
    """Return the coverage of each schema of the cases, in their order; a gold that cases share counts once."""
    golds: dict[str, dict[str, Json]] = {}
    schemas: dict[str, tuple[Path, Json]] = {}
    for case in cases:
        if not case.gold_is_missing:
            schemas.setdefault(case.schema_sha256, (case.schema_path, case.schema))
            golds.setdefault(case.schema_sha256, {})[f"{case.gold_path} {case.gold_steps} {case.gold_line}"] = case.gold
    return [
        SchemaCoverage(path=path, golds=len(golds[digest]), states=tuple(_states(schema, [*golds[digest].values()])))
        for digest, (path, schema) in schemas.items()
    ]


def _states(schema: Json, golds: Sequence[Json]) -> Iterator[SchemaState]:
    """Yield the states of all places of a schema, from the root on."""
    tree = Schema(schema)

    def below(
        key: Key, pattern: str, values: Sequence[Json | Missing], depth: int, *, optional: bool = False
    ) -> Iterator[SchemaState]:
        """Yield the states of a place at which the golds have `values`, and of what is below it."""
        node = tree.node(key)
        if depth > DEEPEST or (node.annotation is not None and node.annotation.skip):
            return
        there = [value for value in values if value is not MISSING and value is not None]
        if pattern != ROOT:
            yield SchemaState(pattern, "a value", bool(there))
            if optional or node.nullable:
                yield SchemaState(pattern, "absent", len(there) < len(values))
        for state, covered in _own_states(node, there):
            yield SchemaState(pattern, state, covered)
        branches = [tree.node(branch) for branch in node.branches]
        taken = [next((at for at, branch in enumerate(branches) if tree.fits(branch, value)), None) for value in there]
        for number, branch in enumerate(node.branches):
            fitting = [value for value, at in zip(there, taken, strict=True) if at == number]
            yield SchemaState(pattern, f"alternative {number + 1} of {len(branches)}", bool(fitting))
            for found in below(branch, pattern, fitting, depth + 1):
                if found.pattern != pattern or found.state not in ("a value", "absent"):
                    yield found
        for name, child in node.properties.items():
            inner = [value.get(name, MISSING) for value in there if isinstance(value, dict)]
            yield from below(child, path_below(pattern, name), inner, depth + 1, optional=name not in node.required)
        if node.items is not None:
            rows = [row for value in there if isinstance(value, list) for row in value]
            yield from below(node.items, path_below(pattern, None), rows, depth + 1)

    return below(Schema.root, ROOT, golds, 0)


def _own_states(node: SchemaNode, there: Sequence[Json]) -> Iterator[tuple[str, bool]]:
    members = [True, False] if node.types == ("boolean",) else node.values
    if members is not None and len(members) <= MOST_MEMBERS:
        seen = {canonical_json(value) for value in there}
        yield from ((show(member, 40), canonical_json(member) in seen) for member in members if member is not None)
    if node.types == ("array",):
        sizes = [len(value) for value in there if isinstance(value, list)]
        yield from (("empty", 0 in sizes), ("two or more", any(size > 1 for size in sizes)))
