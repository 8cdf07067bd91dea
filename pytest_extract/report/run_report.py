"""What the reports of a run for people are made from: its headline, command, git revision, branch and job."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.core.aggregate.confidence import Shown
from pytest_extract.core.aggregate.slices import SliceTable, slice_tables
from pytest_extract.core.case_result import CaseResult, Outcome, Spending
from pytest_extract.errors import ExtractError
from pytest_extract.redact import current
from pytest_extract.regression.gate import Answer, GateDecision, Inconclusive, exit_status
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import rank_variants
from pytest_extract.report.aggregates import ranking_title
from pytest_extract.report.lines import NO_VARIANT, Line, plural
from pytest_extract.report.slices import VIEWS
from pytest_extract.report.summary import RunTotals, auto_accept_text, totals_of, worst_patterns

Gate: TypeAlias = Literal["case", "regression", "suite", "none"]
Tone: TypeAlias = Literal["good", "bad", "warn"]

NOTHING: Final = Spending()


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A run as its reports see it.

    `judged`: the comparison with a baseline or between variants, its verdict. `suite`: a line per bound of the suite
    gate, and whether it is met. `mistakes`: case files that could not be read, as told. `expected`: node ids of the
    cases that an `xfail` mark announced. `lines`: what else there is to say (the baseline that was written).
    `judge`: what the judge's model has used; `reruns`: what extractions took whose results a rerun replaced.
    `by`: the tags and dimensions that the run is split by; `view`: the system whose numbers its slices show. `runs`:
    labels of the variants that are runs over time, in order. `facts`: the command, the revision and the like.
    `find_case`: finds the case of a result, for its document; `pages`: which pages of PDFs the HTML page shows as
    images.
    `written` says when and by what, for the reader of a file that has left its folder. `root`: the folder that a CI
    service has the repository in; paths of annotations are relative to it.
    """

    results: Sequence[CaseResult]
    gate: Gate = "case"
    inconclusive: Inconclusive | None = None
    judged: GateDecision | None = None
    suite: Sequence[tuple[bool, str]] = ()
    mistakes: Sequence[str] = ()
    expected: frozenset[str] = frozenset()
    lines: Sequence[Line] = ()
    judge: Spending = NOTHING
    reruns: Spending = NOTHING
    written: str = ""
    by: Sequence[str] = ()
    view: str = VIEWS[0]
    runs: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    find_case: Callable[[CaseResult], Case | None] | None = None
    pages: Literal["none", "evidence", "all"] = "evidence"
    root: Path = Path()

    @cached_property
    def slices(self) -> list[SliceTable]:
        """The run split by each of `by`."""
        return slice_tables(self.results, self.by)

    @cached_property
    def totals(self) -> RunTotals:
        """Totals of the results."""
        return totals_of(self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The result of a run: a word, a sentence with the main reason, and further reasons and notes."""

    tone: Tone
    word: str
    text: str
    reasons: tuple[str, ...] = ()


def headline(run: RunReport) -> Headline:
    """Summarize a run under its gate. Broken cases and case files with errors fail the run under every gate."""
    broken, left = _unexpected(run, Outcome.BROKEN).total(), run.totals.outcomes[Outcome.NOT_RUN]
    problems = [f"{_count_of_cases(broken, run)} broken"] if broken else []
    problems += auto_accept_problems(run.totals, run.gate, run.inconclusive)
    problems += [f"{plural(len(run.mistakes), 'case file')} with mistakes"] if run.mistakes else []
    doubts = [f"{_count_of_cases(left, run)} not run"] if left else []
    if run.gate == "regression":
        return _gate_headline(run, problems, doubts)
    if run.gate == "suite":
        problems = [*(text for passed, text in run.suite if not passed), *problems]
    failed = _failed_texts(run, "failed" if run.gate == "case" else "below their thresholds")
    if run.gate == "case":
        problems, failed = [*failed, *problems], []
    return _threshold_headline(run, problems, doubts, failed)


def auto_accept_problems(totals: RunTotals, gate: Gate, inconclusive: Inconclusive | None) -> list[str]:
    """Return the decisions on auto-accept that fail a run: a precision that is missed, under every gate but `none`.

    One that too few cases could show fails it where `inconclusive` is `fail`.
    """
    failing = {Shown.MISSED, Shown.UNDECIDED} if inconclusive == "fail" else {Shown.MISSED}
    if gate == "none":
        return []
    return [auto_accept_text(each) for each in totals.auto_accept.decisions if each.shown in failing]


def _unexpected(run: RunReport, outcome: Outcome) -> Counter[str]:
    """Count the cases of an outcome that no `xfail` mark announced, by variant."""
    found = (result for result in run.results if result.outcome is outcome and result.nodeid not in run.expected)
    return Counter(result.variant.label for result in found)


def _failed_texts(run: RunReport, what: str) -> list[str]:
    """Count failed cases, those of each variant by itself: the numbers of several together are those of none."""
    failed = _unexpected(run, Outcome.FAILED)
    if len(run.totals.variants) < 2:
        return [f"{_count_of_cases(failed.total(), run)} {what}"] if failed else []
    return [
        f"{variant or NO_VARIANT}: {failed[variant]:,} of {plural(totals.outcomes.total(), 'case')} {what}"
        for variant, totals in run.totals.variants.items()
        if failed[variant]
    ]


def _count_of_cases(count: int, run: RunReport) -> str:
    total = plural(len(run.results), "case")
    if count < len(run.results):
        return f"{count:,} of {total}"
    return f"all {total}" if count > 1 else total


def _gate_headline(run: RunReport, problems: list[str], doubts: list[str]) -> Headline:
    if run.judged is None:
        return Headline(tone="bad", word="Nothing compared", text="nothing was compared", reasons=(*problems, *doubts))
    verdict = run.judged
    red = exit_status(verdict, run.inconclusive) != 0 and verdict.answer is not Answer.UNDECIDED
    failing = red or bool(problems) or (verdict.answer is Answer.UNDECIDED and run.inconclusive == "fail")
    unsure = verdict.answer is Answer.UNDECIDED or bool(doubts)
    text = next(iter(verdict.reasons), "")
    tone: Tone = "bad" if failing or verdict.compared_nothing else "warn" if unsure else "good"
    return Headline(tone=tone, word=str(verdict.answer), text=text, reasons=(*problems, *doubts))


def _threshold_headline(run: RunReport, problems: list[str], doubts: list[str], beside: list[str]) -> Headline:
    below = bool(beside)
    if run.expected:
        beside = [*beside, f"{plural(len(run.expected), 'case')} not green as an xfail mark says"]
    if problems:
        return Headline(tone="bad", word="Failed", text=problems[0], reasons=(*problems[1:], *doubts, *beside))
    if doubts:
        return Headline(tone="warn", word="Not complete", text=doubts[0], reasons=tuple(beside))
    if not run.results:
        return Headline(tone="warn", word="Nothing run", text="no case was run")
    if run.gate == "none":
        return Headline(tone="warn" if below else "good", word="No gate", text=_passed_text(run), reasons=tuple(beside))
    return Headline(tone="good", word="Passed", text=_passed_text(run), reasons=tuple(beside))


def _passed_text(run: RunReport) -> str:
    if len(run.totals.variants) > 1 and not run.runs:
        return ranking_title(rank_variants(snapshot(run.results)))
    return f"{_count_of_cases(run.totals.outcomes[Outcome.PASSED], run)} passed"


def next_steps(run: RunReport) -> list[str]:
    """Return what to do about a run that is not green, the most urgent first; nothing about a green one."""
    totals = run.totals
    outcomes = totals.outcomes
    steps: list[str] = []
    if run.mistakes:
        steps.append("Correct the case files with mistakes: their cases are in no number of this report.")
    if broken := outcomes[Outcome.BROKEN]:
        steps.append(
            f"Mend what broke {plural(broken, 'case')} (the extractor, its model or the judge), and run `pytest --lf`: "
            "broken cases say nothing about the quality."
        )
    if unreadable := sum(totals.unusable.values()):
        kind, count = totals.unusable.most_common(1)[0]
        steps.append(
            f"{plural(unreadable, 'output')} could not be used, mostly {kind} ({count:,}): such an output fails in "
            "every field."
        )
    bad = worst_patterns(totals.fields)
    if bad and len(totals.variants) == 1 and headline(run).tone != "good":
        name, tally = bad[0]
        share = f"{tally.wrong:,} of {tally.total:,} values wrong in {plural(len(tally.cases), 'case')}"
        steps.append(f"Look at `{name}` first: {share}.")
    if run.judged is not None and run.judged.answer is Answer.WORSE:
        if all(
            variant.before == variant.after for variant in run.judged.comparison.variants
        ):  # not variants with each other
            steps.append(
                "If the change is intended, accept it with `pytest --extract-update-baseline` and commit the baseline."
            )
    elif run.judged is not None and run.judged.answer is Answer.UNDECIDED:
        steps.append("Run again what fell (`--extract-confirm`), or add cases; the reasons say how many.")
    if left := outcomes[Outcome.NOT_RUN]:
        steps.append(f"Raise `--extract-budget` for the {plural(left, 'case')} that did not run.")
    return steps


_REVISION: Final = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT")
_BRANCH: Final = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "CIRCLE_BRANCH")
_PATIENCE_S: Final = 10
_SHORT: Final = 12


def run_facts(root: Path, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return name -> value: `command` without secrets; `revision`, `branch` and `job` (a link) as far as known."""
    command = shlex.join(["pytest", *map(str, arguments)])
    revision = _first(environment, _REVISION) or _git(root, "rev-parse", "HEAD")
    branch = _first(environment, _BRANCH) or _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    changed = bool(revision) and bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    facts = {
        "command": str(current().clean(command).value),
        "revision": f"{revision[:_SHORT]}{' and changes' if changed else ''}" if revision else "",
        "branch": "" if branch == "HEAD" else branch,
        "job": job_link(environment),
    }
    return {name: value for name, value in facts.items() if value}


def job_link(environment: Mapping[str, str] = os.environ) -> str:
    """Return the address of the CI job that runs this; empty where none is known."""
    parts = [environment.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    if all(parts):
        return "{}/{}/actions/runs/{}".format(*parts)
    return environment.get("CI_PIPELINE_URL", "")


def repository_root(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that a CI service checked the repository out to, by default `root`."""
    return Path(_first(environment, ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")) or root)


def written_now() -> str:
    """Say when and by what version a report is written."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    return f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, pytest-extract {version('pytest-extract')}"


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; empty without git or outside of a repository."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class CaseFinder:
    """Reads the case files of results below one of several folders, each file once."""

    def __init__(self, *roots: Path) -> None:
        self._roots = roots
        self._files: dict[str, dict[str, Case]] = {}
        self._cache = SchemaCache(compile_structure)

    def __call__(self, result: CaseResult) -> Case | None:
        """Return the case of a result; None if its file does not have it, or cannot be read."""
        if result.file not in self._files:
            self._files[result.file] = self._load(result.file)
        return self._files[result.file].get(result.case_id)

    def _load(self, file: str) -> dict[str, Case]:
        for root in self._roots:
            path = root / file
            if path.is_file():
                try:
                    return {case.id: case for case in load_cases(path, cache=self._cache).cases}
                except (ExtractError, OSError):
                    return {}
        return {}
