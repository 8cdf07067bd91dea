"""What the reports of a run are made from: its headline and facts, and what a comparison with a baseline shows."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case
from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.changed import git_line
from pytest_extract.core.aggregate.confidence import Shown
from pytest_extract.core.aggregate.slices import SliceTable, slice_tables
from pytest_extract.core.case_result import CaseResult, Outcome, Spending
from pytest_extract.core.words import first_of, listed, percent, plural
from pytest_extract.errors import ExtractError
from pytest_extract.redact import current
from pytest_extract.regression.compare import Change, FieldChange, VariantComparison
from pytest_extract.regression.facts import Effect, Subject, TestResult, tag_effects
from pytest_extract.regression.gate import (
    EXIT_WORSE,
    Answer,
    GateDecision,
    call_text,
    errors_text,
    exit_status,
    interval_text,
    spent_text,
)
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.regression.suite import flaky_fields, rank_variants, suite_pass_hat_k
from pytest_extract.report.aggregates import VIEWS, ranking_title
from pytest_extract.report.lines import NO_VARIANT, Line, Span, Style, Table, line, safe_prose, show, told
from pytest_extract.report.summary import NOTHING, RunTotals, auto_accept_text, totals_of, worst_patterns

Gate: TypeAlias = Literal["case", "regression", "suite", "none"]
Tone: TypeAlias = Literal["good", "bad", "warn"]


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

    results: Collection[CaseResult]
    gate: Gate = "case"
    inconclusive: str | None = None
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


class Headline(NamedTuple):
    """The result of a run: a word, a sentence with the main reason, and further reasons and notes."""

    tone: Tone
    word: str
    text: str
    reasons: tuple[str, ...] = ()


def headline(run: RunReport) -> Headline:
    """Summarize a run under its gate. Cases in error and case files with mistakes fail the run under every gate."""
    tone: Tone
    texts: list[str]
    errors, left = _unexpected(run, Outcome.ERROR), run.totals.outcomes[Outcome.NOT_RUN]
    problems = [f"{_count_of_cases(errors.total(), run)} in error"] if errors else []
    problems += auto_accept_problems(run.totals, run.gate, run.inconclusive)
    problems += [f"{plural(len(run.mistakes), 'case file')} with mistakes"] if run.mistakes else []
    doubts = [f"{_count_of_cases(left, run)} not run"] if left else []
    if run.gate == "regression":
        if run.judged is None:
            return Headline("bad", "Nothing compared", "nothing was compared", (*problems, *doubts))
        failing = bool(problems) or run.judged.compared_nothing or exit_status(run.judged) == EXIT_WORSE
        tone = "bad" if failing else "warn" if doubts or run.judged.answer is Answer.UNDECIDED else "good"
        return Headline(tone, str(run.judged.answer), next(iter(run.judged.reasons), ""), (*problems, *doubts))
    if run.gate == "suite":
        problems = [*(text for passed, text in run.suite if not passed), *problems]
    what = "failed" if run.gate == "case" else "below their thresholds"
    below = _failed_texts(run, what)
    if run.gate == "case":
        problems, below = [*below, *problems], []
    notes = [f"{plural(len(run.expected), 'case')} not green as an xfail mark says"] if run.expected else []
    if problems:
        tone, word, texts = "bad", "Failed", [*problems, *doubts]
    elif doubts:
        tone, word, texts = "warn", "Not complete", doubts
    elif not run.results:
        tone, word, texts = "warn", "Nothing run", ["no case was run"]
    elif run.gate == "none":
        tone, word, texts = "warn" if below else "good", "No gate", [_passed_text(run)]
    else:
        tone, word, texts = "good", "Passed", [_passed_text(run)]
    text, *reasons = (*texts, *below, *notes)
    return Headline(tone, word, text, tuple(reasons))


def auto_accept_problems(totals: RunTotals, gate: Gate, inconclusive: str | None) -> list[str]:
    """Return the decisions on auto-accept that fail a run: a precision that is missed, under every gate but `none`.

    One that too few cases could show fails it where the rule `inconclusive` is `fail`.
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


def _passed_text(run: RunReport) -> str:
    if len(run.totals.variants) > 1 and not run.runs:
        return ranking_title(rank_variants(snapshot(run.results)))
    return f"{_count_of_cases(run.totals.outcomes[Outcome.PASSED], run)} passed"


def next_steps(run: RunReport) -> Iterator[str]:
    """Yield what to do about a run that is not green, the most urgent first; nothing about a green one."""
    totals, answer = run.totals, None if run.judged is None else run.judged.answer
    errors, left = totals.outcomes[Outcome.ERROR], totals.outcomes[Outcome.NOT_RUN]
    if run.mistakes:
        yield "Correct the case files with mistakes: their cases are in no number of this report."
    if errors:
        what = f"{plural(errors, 'case')} (of the extractor, its model or the judge)"
        yield f"Fix the errors of {what}, and run `pytest --lf`: an error says nothing about the quality."
    bad = worst_patterns(totals.fields)
    if bad and len(totals.variants) == 1 and headline(run).tone != "good":
        name, tally = bad[0]
        share = f"{tally.wrong:,} of {tally.total:,} values wrong in {plural(len(tally.cases), 'case')}"
        yield f"Look at `{name}` first: {share}."
    if run.judged is not None and answer is Answer.WORSE and not _compared_variants(run.judged):
        accept = "`pytest --extract-update-baseline` and commit the baseline"
        yield f"If the change is intended, accept it with {accept}."
    if answer is Answer.UNDECIDED:
        yield "Run again what fell (`--extract-confirm`), or add cases; the reasons say how many."
    if left:
        yield f"Raise `--extract-budget` for the {plural(left, 'case')} that did not run."


def _compared_variants(decision: GateDecision) -> list[VariantComparison]:
    """Return the comparisons of variants with each other, not with a baseline."""
    return [variant for variant in decision.comparison.variants if variant.before != variant.after]


_BRANCH: Final = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "CIRCLE_BRANCH")


def run_facts(root: Path, arguments: Sequence[str]) -> dict[str, str]:
    """Return name -> value: `command` without secrets; `revision` and `branch` as far as known."""
    command = shlex.join(["pytest", *map(str, arguments)])
    revision = git_line(root, "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= and changes")
    branch = _environment(_BRANCH) or git_line(root, "rev-parse", "--abbrev-ref", "HEAD")
    facts = {
        "command": str(current().clean(command).value),
        "revision": revision,
        "branch": "" if branch == "HEAD" else branch,
    }
    return {name: value for name, value in facts.items() if value}


def repository_root(root: Path) -> Path:
    """Return the folder that a CI service checked the repository out to, by default `root`."""
    return Path(_environment(("GITHUB_WORKSPACE", "CI_PROJECT_DIR")) or root)


def written_now() -> str:
    """Say when and by what version a report is written."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    return f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, pytest-extract {version('pytest-extract')}"


def _environment(names: Sequence[str]) -> str:
    """Return the first of several variables of the environment that is set."""
    return next(filter(None, map(os.environ.get, names)), "")


def case_finder(*roots: Path) -> Callable[[CaseResult], Case | None]:
    """Return what finds the case of a result below one of several folders; None if no file that can be read has it."""
    schemas = SchemaCache(compile_structure)

    @cache
    def cases_of(file: str) -> Mapping[str, Case]:
        path = next((root / file for root in roots if (root / file).is_file()), None)
        try:
            return {case.id: case for case in load_cases(path, cache=schemas).cases} if path is not None else {}
        except (ExtractError, OSError):
            return {}

    return lambda result: cases_of(result.file).get(result.case_id)


MOST_CHANGED: Final = 5
"""Changes of fields of one kind that are shown without `-v`."""
MOST: Final = 10
"""Rows of each table without `-v`."""
_SHOWS_ALL: Final = " (-v shows all)"
_SHORTEST_CALL_S: Final = 0.2
"""Mean latency in seconds from which on it is shown; below, no model was called."""
MOST_REASONS: Final = 4
"""Further reasons of a verdict that are shown without `-v`."""
ANSWER_STYLE: Final[Mapping[Answer, Style]] = {Answer.WORSE: "bad", Answer.PASS: "good", Answer.UNDECIDED: "warn"}


def comparison_title(decision: GateDecision | None, *, is_gate: bool) -> str:
    """Name the regression gate where it judges the run, else what is compared: its verdict is then a remark."""
    if is_gate or decision is None:
        return "regression gate"
    variants = _compared_variants(decision)
    if not variants:
        return "this run compared with its baseline"
    names = listed([variant.after or "now" for variant in variants])
    return safe_prose(f"{names} compared with {variants[0].before or 'before'}")


def gate_lines(decision: GateDecision, *, width: int = 100, verbosity: int = 0) -> list[Line]:
    """Show a comparison, and below it the decision of the gate; `verbosity` 1 or more shows every row."""
    return [*changed_lines(decision, width=width, verbosity=verbosity), *verdict_lines(decision, verbosity=verbosity)]


def verdict_lines(decision: GateDecision, *, verbosity: int = 0) -> list[Line]:
    """Show the decision: a sentence with the main reason, further reasons, what to do next, and what it rests on."""
    most = len(decision.reasons) if verbosity >= 1 else MOST_REASONS
    style = "warn" if decision.warnings else ANSWER_STYLE[decision.answer]
    first, *others = decision.reasons or ("nothing was compared",)
    below: list[tuple[str, Style]] = [(text, "plain") for text in first_of(others, most, "reason", _SHOWS_ALL)]
    below += [(text, "warn") for text in decision.warnings]
    below += [(text, "plain") for text in (*decision.advice, *basis_texts(decision))]
    lines = [line(Span(f"{decision.answer}. ", style), Span(safe_prose(_sentence(first)), "head"))]
    lines += [told(_sentence(text), style, indent=2) for text, style in below]
    return lines + [told(f"note: {note}", "dim", indent=2) for note in decision.notes]


def basis_texts(decision: GateDecision) -> list[str]:
    """Return what a confirmation took, how many runs each side has, errors, and what a call costs and takes."""
    texts = [] if decision.confirmation is None else [spent_text(decision.confirmation)]
    texts += [runs_text(effect) for effect in decision.effects if effect.bounds is not None]
    found = [errors_text(each) for each in decision.errors]
    texts += [text for text in found if not any(text in reason for reason in decision.reasons)]
    calls = [
        call_text(change)
        for change in decision.calls
        if change.what == "cost" or max(change.before, change.after) >= _SHORTEST_CALL_S
    ]
    return [*texts, "; ".join(calls)] if calls else texts


def runs_text(effect: Effect) -> str:
    """Return `baseline: 3 runs of each case; now: 1`."""
    before, after = (plural(low, "run") if low == high else f"{low} to {high} runs" for low, high in effect.runs)
    variant = f"[{effect.variant}] " if effect.variant else ""
    return f"{variant}{plural(effect.cases, 'case')}: {before} of each before, {after} now"


def _sentence(text: str) -> str:
    """Return a text with a full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVariant:
    """What reports show of the comparison of a variant, one below the other.

    `changes`: those of each kind by field pattern, the most frequent first. `apart`: cases that are not compared.
    """

    title: str
    effects: Sequence[str]
    tables: Sequence[Table]
    changes: Sequence[tuple[Change, Sequence[tuple[str, Sequence[FieldChange]]]]]
    apart: Sequence[tuple[Change, Sequence[str]]]


def shown_variant(variant: VariantComparison, decision: GateDecision, most: int | None, hint: str = "") -> ShownVariant:
    """Return what there is to show of a variant, its tables with at most so many rows; `hint`: what shows all."""
    pairs = plural(sum(row.fields for row in variant.compared), "field")

    changed: dict[Change, dict[str, list[FieldChange]]] = {Change.FELL: {}, Change.ROSE: {}, Change.SHIFTED: {}}
    for change in variant.fields:
        if change.kind in changed:
            changed[change.kind].setdefault(change.pattern, []).append(change)
    return ShownVariant(
        title=f"{plural(len(variant.compared), 'case')}, {pairs} compared",
        effects=[_effect_text(effect) for effect in decision.effects if effect.variant == variant.label],
        tables=[*_change_tables(variant, decision, most, hint)],
        changes=[
            (kind, sorted(found.items(), key=lambda each: -len(each[1]))) for kind, found in changed.items() if found
        ],
        apart=[
            (kind, [f"{row.case}: {row.why}" if row.why else row.case for row in rows])
            for kind in (Change.LOST, Change.INCOMPARABLE, Change.NEW, Change.GONE)
            if (rows := variant.of_kind(kind))
        ],
    )


def changed_lines(decision: GateDecision, *, width: int = 100, verbosity: int = 0) -> Iterator[Line]:
    """Show what changed, variant by variant."""
    most = None if verbosity >= 1 else MOST
    for variant in decision.comparison.variants:
        counts = Counter(row.kind for row in variant.cases)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in Change if counts[kind])
        name = f"[{safe_prose(variant.label)}] " if variant.label else ""
        shown = shown_variant(variant, decision, most, _SHOWS_ALL)
        yield line(Span(f"{name}{shown.title}", "head"), f" ({kinds})")
        yield from (line(text, indent=2) for text in shown.effects)
        for table in shown.tables:
            yield from table.lines(width)
        for kind, ranked in shown.changes:
            ranks = zip_longest(*(found for _, found in ranked))
            texts = [_change_text(change, width) for rank in ranks for change in rank if change is not None]
            yield told(f"{kind} ({len(texts):,}):", indent=2)
            first = first_of(texts, MOST_CHANGED if most else len(texts), "field", _SHOWS_ALL)
            yield from (told(text, indent=4) for text in first)
        for kind, cases in shown.apart:
            style: Style = "warn" if kind in {Change.LOST, Change.GONE} else "dim"
            yield told(f"{plural(len(cases), 'case')} {kind}:", style, indent=2)
            yield from (told(text, indent=4) for text in first_of(cases, most or len(cases), "case", _SHOWS_ALL))


def _effect_text(effect: Effect) -> str:
    """Return the change of a measure and its confidence interval."""
    text = f"{effect.measure}: {percent(effect.before)} -> {percent(effect.after)}"
    if effect.bounds is not None:
        text += f" ({interval_text(effect.bounds)}, over {plural(effect.cases, 'case')})"
    return text


def _change_tables(variant: VariantComparison, decision: GateDecision, most: int | None, hint: str) -> Iterator[Table]:
    """Yield how the cases of each value of each tag changed that the comparison is split by, then field patterns."""
    tests = [test for test in decision.tests if test.variant == variant.label]
    of_tags = {test.name: test for test in tests if test.subject is Subject.TAG}
    by_tag: dict[str, list[tuple[str, ...]]] = {}
    for each in tag_effects(variant, decision.rules):
        p = _p_cell(of_tags.get(f"{each.tag}={each.value}")) if each.before != each.after else ""
        cells: tuple[str, ...] = (each.value, f"{each.cases:,}", percent(each.before), percent(each.after), p)
        by_tag.setdefault(each.tag, []).append(cells)
    for tag, rows in by_tag.items():
        yield Table((tag, "cases", "before", "after", "p"), rows).first(most, f"{tag} value", hint)
    of_patterns = {test.pattern: test for test in tests}
    patterns: list[tuple[str, ...]] = []
    styles: list[Style] = []
    for row in variant.patterns:
        if row.kind is not Change.UNCHANGED:
            test = of_patterns.get(row.pattern)
            proved = test is not None and test.significant  # a fall beyond noise: only then has a field regressed
            rates = (percent(row.before), percent(row.after), f"{row.rose:,}", f"{row.fell:,}")
            p = _p_cell(test) if row.after < row.before else ""  # the test is of falls
            cells = (f"{row.fields:,}", *rates, p) if row.fields else ("",) * 6
            patterns.append((row.pattern, "regressed" if proved else str(row.kind), *cells))
            styles.append("dim" if not row.fields else "bad" if proved else "plain")
    heads = ("field", "change", "fields", "before", "after", "rose", "fell", "p")
    still = len(variant.patterns) - len(patterns)
    notes = [f"{plural(still, 'field')} unchanged"] if still else []
    if patterns:
        yield Table(heads, patterns, notes=notes, styles=styles).first(most, "changed field", hint)


def _p_cell(test: TestResult | None) -> str:
    """Return the corrected p-value of a row, empty without a test."""
    if test is None or not test.beyond_noise:
        return "" if test is None else f">{test.level:g}"
    return f"{test.adjusted:.2g}" if test.adjusted >= 0.001 else "<0.001"


def _change_text(change: FieldChange, width: int) -> str:
    rates = f" [{text}]" if (text := rates_text(change)) else ""
    where = f"{change.case} {change.path}{rates}"
    if change.path.startswith("("):
        return where
    room = max(12, (width - 30) // 3)
    values = f"{show(change.value_before, room)} -> {show(change.value_after, room)} (gold {show(change.gold, room)})"
    if change.mistake is not None and len(change.mistake.paths) == 1:
        values += f": {change.mistake.text}"
    return f"{where}: {values}"


def rates_text(change: FieldChange) -> str:
    """Return the shares of right runs before and now: `100 % -> 33.3 % of the runs`; "" where each side's agree."""
    if {change.before, change.after} <= {0, 1}:
        return ""
    return f"{percent(change.before)} -> {percent(change.after)} of the runs"


def repeat_lines(results: Collection[CaseResult], *, verbosity: int = 0) -> list[Line]:
    """Show pass^k and flaky fields of the repeats of a run; nothing if no case was run twice."""
    rates, fields = suite_pass_hat_k(results), flaky_fields(results)
    if max(rates, default=0) < 2 and not fields:
        return []
    shares = ", ".join(f"pass^{k} {percent(rate)}" for k, rate in rates.items())
    count = plural(len(fields), "unsteady field")
    lines = [line(Span("repeats: ", "head"), f"{shares}; {count}")]
    most = len(fields) if verbosity >= 1 else MOST
    texts = []
    for key, path, found in fields:
        place = f"{key.case} [{key.variant}] {path}" if key.variant else f"{key.case} {path}"
        texts.append(f"{place}: passed {sum(found.runs)} of {plural(len(found.runs), 'run')}")
    return [*lines, *(told(text, indent=2) for text in first_of(texts, most, "field", _SHOWS_ALL))]
