"""What other programs read of a run: annotations, code quality and JUnit properties of CI services, and CSV.

Annotations and code quality stand at the line of the gold value that was missed, or at the case's own line.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pytest_extract.cases.edit import gold_lines_of
from pytest_extract.core.aggregate.slices import TAG, Dimension, dimension, tag_text
from pytest_extract.core.case_result import CaseResult, Outcome, Spending
from pytest_extract.core.mistakes import mistakes_by_path
from pytest_extract.core.results import Status
from pytest_extract.core.values import MISSING, Json, Missing, text_digest
from pytest_extract.core.words import first_of, plural
from pytest_extract.report.findings import finding_text, findings_of, metric_label, split_known
from pytest_extract.report.lines import render_error, safe_prose, shorten
from pytest_extract.report.run_report import RunReport, headline
from pytest_extract.report.summary import read_scores, reason_of

Level: TypeAlias = Literal["error", "warning"]

MOST_ANNOTATIONS: Final = 50
"""Annotations of one run; GitHub shows ten errors and ten warnings of a step, and fifty of a run."""
MOST_FIELDS: Final = 5
"""Failing fields of a case that are told; further ones are counted."""
MOST_PROPERTIES: Final = 200
"""Fields with a JUnit property of their own; further ones are counted."""
PROPERTY: Final = "extract."
"""Beginning of the names of our JUnit properties."""
_BESIDE_FIELDS: Final = frozenset(
    {"max_cost_usd", "max_latency_s", "rules", "rules_held", "grounded", "gold", "known_failures"}
)
"""Kinds of bounds that an output can miss in which every field is right."""
_VALUE: Final = 60
_MESSAGE: Final = 400
_MISTAKE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+):(?:\d+:)? (?P<text>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something to look at: a case that is not green, or a mistake in a file. `key` names it, the same in every run.

    `path` is relative to the root of the repository; None if the place is not known.
    """

    level: Level
    title: str
    text: str
    key: str
    path: str | None = None
    line: int = 1


def problems_of(run: RunReport) -> list[Problem]:
    """Return the problem of each case that is not green, worst cases first, and of each mistake in a file.

    Problems of a case that an `xfail` mark announces are left out. Under another gate than `case`, a case below its
    thresholds is a warning.
    """
    problems = [problem for text in run.mistakes for problem in _file_problems(text, run.root)]
    head = headline(run)
    if head.tone == "bad" and run.gate in {"regression", "suite"}:
        text = "; ".join([part for part in (head.text, *head.reasons) if part])
        problems.append(Problem(level="error", title=head.word, text=_clean(text), key=head.word))
    levels: dict[Outcome, Level] = {
        Outcome.ERROR: "error",
        Outcome.FAILED: "error" if run.gate == "case" else "warning",
        Outcome.NOT_RUN: "warning",
    }
    problems += [
        _case_problem(result, levels[result.outcome], run)
        for result in run.results
        if result.outcome in levels and result.nodeid not in run.expected
    ]
    return sorted(problems, key=lambda problem: problem.level != "error")


def _file_problems(text: str, root: Path) -> list[Problem]:
    """Return a problem for each mistake of a file; a line that names no place belongs to the mistake before it."""
    found: list[Problem] = []
    for row in text.splitlines():
        place = _MISTAKE.match(row)
        if found and (place is None or not Path(place["path"]).is_absolute()):
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{_clean(row)}")
            continue
        problem = Problem(level="error", title="mistake in a case file", text=_clean(row), key=row)
        if place is not None:
            path, line, said = _relative(Path(place["path"]), root), int(place["line"]), place["text"]
            problem = replace(problem, text=_clean(said), key=f"{path}:{line}: {said}", path=path, line=line)
        found.append(problem)
    return found


def _case_problem(result: CaseResult, level: Level, run: RunReport) -> Problem:
    """Return the problem of a case: why it is not green, and its failing fields, at the place of the worst."""
    case = None if run.find_case is None else run.find_case(result)
    missed = [breach for attempt in result.attempts for breach in attempt.breaches if breach not in result.breaches]
    others = dict.fromkeys(each.message for each in missed if each.what.partition(".")[0] in _BESIDE_FIELDS)
    scores = (attempt.score for attempt in result.attempts if attempt.outcome is not Outcome.PASSED)
    score = next((each for each in scores if each is not None and each.readable), None)
    findings = []
    if score is not None and result.outcome is Outcome.FAILED:
        findings = findings_of(split_known(score, result.known).counted, mistakes=score.mistakes)
    path, line = _relative(Path(result.file) if case is None else case.path, run.root), 1 if case is None else case.line
    if findings and case is not None and not Path(gold := _relative(case.gold_path, run.root)).is_absolute():
        # A service shows nothing at a file that is not in the repository: there, the case's own line is the place.
        worst = (*case.gold_steps, *findings[0].result.path)
        path, (line,) = gold, gold_lines_of(case.gold_path, case.gold_line, [worst])
    fields = [f"{each.result.path}: {finding_text(each, _VALUE)}" for each in findings]
    texts = ["; ".join([reason_of(result), *others]), *first_of(fields, MOST_FIELDS, "field")]
    return Problem(
        level=level,
        title=_clean(result.nodeid),
        text="\n".join(map(_clean, texts)),
        key=" ".join(map(str, (result.nodeid, *(place for each in findings for place in each.paths)))),
        path=path,
        line=line,
    )


def _clean(text: str) -> str:
    return safe_prose(shorten(text, _MESSAGE))


def _relative(path: Path, root: Path) -> str:
    """Return a path relative to the root of the repository, with slashes; as it is if it is not below."""
    try:
        return (path.resolve() if path.is_absolute() else path).relative_to(root.resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def github_commands(problems: Sequence[Problem]) -> Iterator[str]:
    """Write problems as GitHub's workflow commands."""
    for each in problems[:MOST_ANNOTATIONS]:
        where = [] if each.path is None else [f"file={_escape_property(each.path)}", f"line={each.line}"]
        head = ",".join([*where, f"title={_escape_property(each.title)}"])
        yield f"::{each.level} {head}::{_escape_message(each.text)}"
    if (left := len(problems) - MOST_ANNOTATIONS) > 0:
        yield f"::warning ::{plural(left, 'more problem')} without an annotation"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(run: RunReport) -> str:
    """Write a run as a GitLab code quality report: an issue for each case that is not green, and each mistake."""
    severities: dict[Level, str] = {"error": "major", "warning": "minor"}
    issues: list[Json] = [
        {
            "description": f"{each.title}: {each.text}",
            "check_name": "pytest-extract",
            "fingerprint": text_digest(each.key),
            "severity": severities[each.level],
            "location": {"path": each.path or ".", "lines": {"begin": each.line}},
        }
        for each in problems_of(run)
    ]
    return json.dumps(issues, indent=1) + "\n"


def junit_properties(result: CaseResult) -> list[tuple[str, str]]:
    """Return the properties of a case in JUnit XML: its measures, its cost, its tags, and the verdict of each field."""
    found = [(name, f"{mean:.6g}") for name, mean in result.means.items()]
    spent = Spending.of([result])
    if spent.calls > spent.unpriced:
        found.append(("cost_usd", f"{spent.cost_usd:.6f}"))
    found += [(f"tag.{name}", tag_text(result.tags, name)) for name in result.tags]
    verdicts: dict[str, Counter[Status]] = defaultdict(Counter)
    for score in read_scores(result):
        for leaf in score.leaves:
            verdicts[leaf.pattern or "$"][leaf.status] += 1
    for pattern, counts in islice(verdicts.items(), MOST_PROPERTIES):
        verdict = ", ".join(f"{count} {status.text}" for status, count in counts.most_common())
        found.append((f"field.{pattern}", verdict))
    if (left := len(verdicts) - MOST_PROPERTIES) > 0:
        found.append(("fields_left_out", str(left)))
    return [(safe_prose(f"{PROPERTY}{name}"), safe_prose(shorten(value, _MESSAGE))) for name, value in found]


COLUMNS: Final = (
    "case", "file", "model", "prompt", "revision", "outcome", "repeat", "path", "pattern", "metric", "status", "score",
    "gold", "extracted", "reason", "confidence", "mistake", "mode",
)  # fmt: skip

_FORMULA: Final = frozenset("=+-@\t\n＝＋－＠")  # noqa: RUF001 - the full-width signs count in some locales
"""First characters of cells that a spreadsheet takes for formulas."""


def csv_table(run: RunReport) -> str:
    """Write all leaf results; a case without any (error, not run) has one row with empty columns.

    Each tag or dimension that splits the run is one more column, with the slice of the case or of the value.

    Gold and extracted values are JSON, empty where missing. A text that a spreadsheet would take for a formula begins
    with an apostrophe. Lone surrogates, null characters and carriage returns are escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    splitting = [each for each in map(dimension, run.by) if each.of_case is not None or each.of_value is not None]
    dimensions = {f"{TAG}{each.name}" if each.name in COLUMNS else each.name: each for each in splitting}
    columns = (*COLUMNS, *dimensions)
    writer.writerow(map(_csv_cell, columns))
    for result in run.results:
        for row in _rows(result, dimensions):
            writer.writerow(_csv_cell(row.get(column)) for column in columns)
    return out.getvalue()


def _rows(result: CaseResult, dimensions: Mapping[str, Dimension]) -> list[dict[str, object]]:
    """Return the rows of a case by the names of columns; a case without rows has one with the reason."""
    variant = result.variant
    case: dict[str, object] = {
        "case": result.case_id,
        "file": result.file,
        "model": variant.model or variant.param,
        "prompt": variant.prompt,
        "revision": variant.revision,
        "outcome": str(result.outcome),
        "mode": variant.mode,
    }
    rows = []
    try:
        case |= {head: each.of_case(result) for head, each in dimensions.items() if each.of_case is not None}
        for attempt in result.attempts:
            named = {} if attempt.score is None else mistakes_by_path(attempt.score.mistakes)
            for leaf in () if attempt.score is None else attempt.score.leaves:
                row: dict[str, object] = {
                    "repeat": attempt.index + 1,
                    "path": str(leaf.path),
                    "pattern": leaf.pattern,
                    "metric": metric_label(leaf),
                    "status": str(leaf.status),
                    "score": leaf.score,
                    "gold": _json_cell(leaf.gold),
                    "extracted": _json_cell(leaf.extracted),
                    "reason": leaf.reason,
                    "confidence": leaf.confidence,
                    "mistake": named[leaf.path].kind if leaf.path in named else None,
                }
                row |= {head: each.of_value(result, leaf) for head, each in dimensions.items() if each.of_value}
                rows.append(case | row)
    except Exception as error:  # noqa: BLE001  # one case that cannot be written must not take the table along
        return [case | {"reason": render_error("this case", error)}]
    return rows or [case | {"reason": result.why}]


def _json_cell(value: Json | Missing) -> str | None:
    return None if value is MISSING else json.dumps(value, default=repr, ensure_ascii=False)


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    text = text.replace("\r", "\\r")  # which `csv` of Python 3.11 does not quote
    if text[:1] not in _FORMULA:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
