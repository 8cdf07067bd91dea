"""A run summed up in one pass, and its totals as lines: cases, measures, variants, worst fields, failures, cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Final

from pytest_extract.core.aggregate.confidence import CONFIDENCE, AutoAcceptDecision, AutoAcceptTotals, Shown
from pytest_extract.core.case_result import CaseResult, Origin, Outcome, Spending, Variant
from pytest_extract.core.judges import GIVE_A_JUDGE, WITHOUT_JUDGE
from pytest_extract.core.results import FieldResult, RuleStatus, ScoreRecord, Status, is_covered
from pytest_extract.core.values import FieldPath, pattern_of
from pytest_extract.core.words import first_of, listed, number_text, percent, plural, score_number
from pytest_extract.report.findings import FAILED, failed_results, passing_known_failures, split_known
from pytest_extract.report.lines import NO_VARIANT, Line, Span, Style, Table, line, prose, safe_prose, shorten, told

if TYPE_CHECKING:
    from pytest_extract.core.aggregate.slices import ListRecall, Recall


NOTHING: Final = Spending()
_MOST: Final = 5
"""Things that a line names; further ones are counted."""
WORST_FIELDS: Final = 10
"""Fields of the table of those that are worst, and kinds of mistakes."""
MEASURES: Final = ("pass_rate", "f1")
"""The measures that every report shows of runs, variants and cases; the results file has the others."""


def measure_text(name: str, value: float) -> tuple[str, str]:
    """Return how people read a measure: its name and its value. `pass_rate` is the share of fields that are right."""
    return ("fields right", percent(value)) if name == "pass_rate" else (name, score_number(value))


def reason_of(result: CaseResult) -> str:
    """Return why a case is not green: the bounds that it misses, or why there is no result."""
    bounds = "; ".join(breach.message for breach in result.breaches)
    return bounds or result.why or result.outcome.text


def read_scores(result: CaseResult) -> list[ScoreRecord]:
    """Return the scores of the outputs that were scored field by field: those that could be read."""
    return [score for score in result.scores if score.readable]


@dataclass(slots=True)
class PatternCounts:
    """Leaf results of one field pattern over all cases, by status and by variant; `lost`: the sum of 1 - score."""

    statuses: Counter[Status] = field(default_factory=Counter)
    variants: dict[str, Counter[Status]] = field(default_factory=lambda: defaultdict(Counter))
    cases: set[str] = field(default_factory=set)
    lost: float = 0.0

    def add(self, result: CaseResult, leaf: FieldResult) -> None:
        """Count a leaf result of a case."""
        self.statuses[leaf.status] += 1
        self.variants[result.variant.label][leaf.status] += 1
        if leaf.status in FAILED:
            self.cases.add(result.nodeid)
            self.lost += 1 - leaf.score

    @property
    def wrong(self) -> int:
        """Results that failed."""
        return sum(self.statuses[status] for status in FAILED)

    @property
    def total(self) -> int:
        """Results that failed or matched."""
        return self.wrong + self.statuses[Status.MATCH]


def failed_text(tally: PatternCounts) -> str:
    """Count the failures of a field by their status: `2 mismatch, 1 missing`."""
    return ", ".join(f"{count:,} {status.text}" for status, count in tally.statuses.most_common() if status in FAILED)


def worst_patterns(found: Mapping[str, PatternCounts]) -> list[tuple[str, PatternCounts]]:
    """Return the patterns with failures, sorted by lost score, then by share of failures, then by name."""
    bad = ((name, tally) for name, tally in found.items() if tally.wrong)
    return sorted(bad, key=lambda item: (-item[1].lost, -item[1].wrong / item[1].total, item[0]))


BY_EMPTINESS: Final = "right by emptiness"


def emptiness_text(score: ScoreRecord, *, most: bool = False) -> str:
    """Count the passed fields that are empty on both sides, or say that nothing was compared; "" where neither is so.

    `most`: only where most of the passed fields are empty, so that the pass rate says little.
    """
    if all(result.status is Status.SKIPPED for result in (*score.fields, *score.leaves)):
        return "nothing was compared"
    empty, passed = score.empty_passes, sum(result.passed for result in score.fields)
    return f"{empty:,} of {plural(passed, 'passed field')}" if empty > (passed - empty if most else 0) else ""


def mostly_empty(result: CaseResult) -> str:
    """Describe the passes of the first repeat whose passes are mostly empty; "" if no repeat is like that."""
    return next(filter(None, (emptiness_text(score, most=True) for score in read_scores(result))), "")


def uncompared_places(result: CaseResult) -> tuple[Mapping[str, int], int]:
    """Return the gold values of a case that no comparison reaches, by pattern, and the number of all of them."""
    return result.uncompared, result.shape.get("leaves", 0)


KNOWN: Final = "known failures, not in the verdict"
DRAFTS: Final = "golds that nobody has reviewed (pytest-extract review): no evidence for the regression gate"


def _uncompared_text(result: CaseResult) -> str:
    places, total = uncompared_places(result)
    return f"{sum(places.values()):,} of {total:,}: {_places_text(places)}" if places else ""


def _within_text(result: CaseResult) -> str:
    """Count the wrong values of a passed case in its worst output, known failures left out."""
    if result.outcome is not Outcome.PASSED:
        return ""
    inexact = [  # most outputs that pass are right
        score for score in read_scores(result) if any(score.measures.get(name, 0.0) < 1 for name in MEASURES)
    ]
    wrong = max((len(failed_results(split_known(score, result.known).counted)) for score in inexact), default=0)
    return f"{wrong:,}" if wrong else ""


def _known_results(result: CaseResult) -> list[list[FieldResult]]:
    """Return the known failures of each output; none for most cases, which have none."""
    return [split_known(score, result.known).known for score in read_scores(result)] if result.known else []


def _known_text(result: CaseResult) -> str:
    failing = sum(len(failed_results(known)) for known in _known_results(result))
    return plural(failing, "value") if failing else ""


def _stale_text(result: CaseResult) -> str:
    passing = [passing_known_failures(known, result.known) for known in _known_results(result)]
    return _places_text(place for place in result.known if passing and all(place in each for each in passing))


def _places_text(places: Iterable[str]) -> str:
    return listed([*dict.fromkeys(places)])


_REMARKS: Final[Mapping[str, Callable[[CaseResult], str]]] = {
    "wrong values within the thresholds": _within_text,
    "not bare JSON": lambda case: ", ".join(dict.fromkeys(kind for score in case.scores for kind in score.wrapped)),
    "lists in another order, not compared": lambda case: _places_text(
        pattern_of(path) for score in case.scores for path in score.reordered
    ),
    f"{BY_EMPTINESS}, without a value on either side": mostly_empty,
    "gold values that are compared with nothing": _uncompared_text,
    "fields of which no wrong value fails the case": lambda case: _places_text(case.cannot_fail),
    DRAFTS: lambda case: "draft" if case.draft else "",
    KNOWN: _known_text,
    "known failures that pass now (take them out of known_failures)": _stale_text,
}
"""What a summary names cases for, and what it says of a case behind its name; of other cases nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected calls and cost of one case (None: no known price), and its number of recorded outputs."""

    calls: int
    recorded: int
    cost_usd: float | None


@dataclass(slots=True)
class VariantTotals:
    """The cases of one variant: outcomes, spending, and for each whether it is a sample, with its `MEASURES`."""

    variant: Variant
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    spending: Spending = field(default_factory=Spending)
    measures: list[tuple[bool, dict[str, float]]] = field(default_factory=list)

    @property
    def means(self) -> dict[str, float]:
        """Means over the samples, over all cases where there is none; without measures that no case has."""
        return _means(self.measures)


def _means(cases: Sequence[tuple[bool, dict[str, float]]]) -> dict[str, float]:
    counted = [found for is_sample, found in cases if is_sample and found] or [found for _, found in cases]
    values = {name: [found[name] for found in counted if name in found] for name in MEASURES}
    return {name: fsum(each) / len(each) for name, each in values.items() if each}


@dataclass(slots=True)
class RunTotals:
    """The cases of a run.

    `variants` by label. `fields`: leaf results by pattern. `unusable`: failures of outputs. `reasons`: why cases ended
    in error or were not run, and what of their requests was changed for a model. `remarks`: what else cases are named
    for.
    `rules`: of each rule across fields, the cases of the outputs in each status.
    `repeated`: whether a case was run twice. `apart`: the number of cases that are no samples, by origin.
    """

    variants: dict[str, VariantTotals] = field(default_factory=dict)
    fields: dict[str, PatternCounts] = field(default_factory=dict)
    unusable: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    remarks: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    rules: dict[str, dict[RuleStatus, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    auto_accept: AutoAcceptTotals = field(default_factory=AutoAcceptTotals)
    mistakes: Counter[str] = field(default_factory=Counter)
    repeated: bool = False
    apart: Counter[Origin] = field(default_factory=Counter)

    @property
    def cases(self) -> int:
        """Number of cases, each variant's counted by itself."""
        return self.outcomes.total()

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Cases by outcome."""
        return sum((variant.outcomes for variant in self.variants.values()), Counter())

    @property
    def means(self) -> dict[str, float]:
        """Means over the cases of all variants."""
        return _means([case for variant in self.variants.values() for case in variant.measures])

    @property
    def spending(self) -> Spending:
        """Spending of all variants."""
        return sum((variant.spending for variant in self.variants.values()), Spending())

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        self.auto_accept.add(result)
        variant = self.variants.setdefault(result.variant.label, VariantTotals(result.variant))
        variant.outcomes[result.outcome] += 1
        variant.spending += Spending.of([result])
        if result.origin is not Origin.SAMPLE:
            self.apart[result.origin] += 1
        means = result.means
        found: dict[str, float] = {name: means[name] for name in MEASURES if name in means}
        variant.measures.append((result.origin is Origin.SAMPLE, found))
        for score in read_scores(result):
            for leaf in score.leaves:
                if not is_covered(leaf, result.known):
                    self.fields.setdefault(leaf.pattern, PatternCounts()).add(result, leaf)
        if result.outcome in (Outcome.ERROR, Outcome.NOT_RUN):  # what to do about a missing judge is told once for all
            no_judge = (result.why or "").startswith(WITHOUT_JUDGE)
            why = f"no judge for semantic comparisons: {GIVE_A_JUDGE}" if no_judge else result.why or "?"
            self.reasons[str(result.outcome)][why] += 1
        self.reasons[_CHANGED].update({text for attempt in result.attempts for text in attempt.adjustments})
        for head, remark in _REMARKS.items():
            if text := remark(result):
                self.remarks[head][result.nodeid] = text
        for score in [attempt.score for attempt in result.attempts if attempt.score is not None]:
            if score.failure is not None:
                self.unusable[score.failure.kind] += 1
            for rule in score.rules:
                self.rules[rule.name].setdefault(rule.status, []).append(result.nodeid)
            if score.mistakes:
                from pytest_extract.core.mistakes import mistake_kinds  # most outputs are right

                self.mistakes.update(kind.replace("_", " ") for kind in mistake_kinds(score))
        self.repeated = self.repeated or len(result.attempts) > 1


_CHANGED: Final = "requests changed"


def totals_of(results: Iterable[CaseResult]) -> RunTotals:
    """Add up the cases of a run."""
    totals = RunTotals()
    for result in results:
        totals.add(result)
    return totals


_LONGEST_REASON: Final = 300
_OUTCOME_STYLE: Final[Mapping[Outcome, Style]] = {
    Outcome.PASSED: "good",
    Outcome.FAILED: "bad",
    Outcome.ERROR: "warn",
    Outcome.NOT_RUN: "warn",
}


def summary_lines(
    results: Collection[CaseResult],
    *,
    totals: RunTotals | None = None,
    judge: Spending = NOTHING,
    reruns: Spending = NOTHING,
    expected: int = 0,
    width: int = 100,
    verbosity: int = 0,
    fields: bool = True,
    golds: bool = True,
    diffs: bool = True,
) -> list[Line]:
    """Summarize a run. Cases in error and cases not run are counted apart and take no part in any measure.

    `totals`: those of `results`, if the caller has them. `reruns`: spent before reruns. `expected`: number of cases
    that fail as an xfail mark expects. `fields`: list the worst field patterns, too. `golds`: every case has one to be
    compared with; else no score is told. `diffs`: the reader sees the diffs of failing cases, so that only fields that
    are wrong in several cases are news.
    """
    totals = totals_of(results) if totals is None else totals
    lines: list[Line] = []
    if golds:
        parts: list[str | Span] = [Span(plural(totals.cases, "case"), "head")]
        for outcome, style in _OUTCOME_STYLE.items():
            if count := totals.outcomes[outcome]:
                text = plural(count, "error") if outcome is Outcome.ERROR else f"{count:,} {outcome.text}"
                parts += [", " if len(parts) > 1 else ": ", Span(text, style)]
        if expected:
            parts.append(f" ({expected:,} as an xfail mark says)")
        parts += [f"; {' '.join(measure_text(name, value))}" for name, value in totals.means.items()]
        lines.append(line(*parts))
        if len(totals.variants) > 1:
            lines += variant_table(totals.variants).lines(width)
        most = None if verbosity >= 2 else WORST_FIELDS
        bad = worst_patterns(totals.fields)
        if diffs and most is not None:
            bad = [each for each in bad if len(each[1].cases) > 1]
        if fields and bad:
            table = replace(worst_fields_table(bad), title="worst fields")
            lines += table.first(most, "field", " (-vv shows all)").lines(width)
        lines += _kinds_lines("kinds of mistakes", totals.mistakes, "plain", width)
    lines += failure_lines(totals, width=width)
    if any(array.missing for result in results for score in result.scores for array in score.arrays):
        from pytest_extract.core.aggregate.slices import list_recalls  # most runs lack no rows

        cut = [f"{_list_name(each)} {_edge_text(each)}" for each in list_recalls(results) if each.edge is not None]
        for text in first_of(cut, _MOST, "list", " that break off"):
            lines += prose(text, "warn", indent=0, width=width)
    lines += _rule_lines(totals.rules, width)
    lines += auto_accept_lines(totals.auto_accept.decisions, width=width)
    lines += remark_lines(totals.remarks, width=width, verbosity=verbosity)
    if 0 < totals.apart.total() < totals.cases:  # headline rates and the regression gate leave them out
        apart = ", ".join(plural(number, f"{origin} case") for origin, number in totals.apart.items())
        lines.append(line(Span("not in the rates above", "head"), f": {apart}"))
    if Origin.SYNTHETIC in totals.apart:
        lines += [each for table in altered_tables(results) for each in table.lines(width)]
    spent = [spending_facts(totals.spending + reruns, reruns)]
    if judge.calls:
        spent.append([("judge", plural(judge.calls, "call"), ""), *spending_facts(judge)])
    for facts in filter(None, spent):
        told = "; ".join(f"{name}: {value}{note and f' ({note})'}" for name, value, note in facts)
        lines += prose(told, "plain", indent=0, width=width)
    return lines


def variant_table(variants: Mapping[str, VariantTotals]) -> Table:
    """Write the variants of a run as a table: counts of outcomes, means and cost."""
    rows = []
    for label, variant in sorted(variants.items()):
        counts, means = variant.outcomes, variant.means
        figures = [f"{count:,}" for count in (counts.total(), *(counts[each] for each in _OUTCOME_STYLE))]
        scores = [measure_text(name, means[name])[1] if name in means else "-" for name in MEASURES]
        rows.append((label, *figures, *scores, variant.spending.cost_text))
    outcomes = (each.text for each in _OUTCOME_STYLE)
    return Table(("", "cases", *outcomes, *(measure_text(name, 0.0)[0] for name in MEASURES), "cost"), rows)


def worst_fields_table(bad: Sequence[tuple[str, PatternCounts]], variants: Sequence[str] = ()) -> Table:
    """Write the fields that failed as a table; `variants`: those that have each a column for what is wrong."""
    rows = []
    for name, tally in bad:
        counts = [tally.variants[variant] for variant in variants] or [tally.statuses]
        rows.append((name, *map(_wrong_text, counts), f"{len(tally.cases):,}", failed_text(tally)))
    wrong = [f"wrong in {variant or NO_VARIANT}" for variant in variants] or ["wrong"]
    return Table(("field", *wrong, "cases", "how"), rows)


def _wrong_text(statuses: Counter[Status]) -> str:
    found = PatternCounts(statuses)
    return f"{found.wrong:,} of {found.total:,} ({percent(found.wrong / found.total)})" if found.total else "-"


def _case_name(nodeid: str) -> str:
    return nodeid.rpartition("::")[2]


def remark_lines(remarks: Mapping[str, Mapping[str, str]], *, width: int, verbosity: int = 0) -> Iterator[Line]:
    """Name the cases with something to know beside their numbers: the first of each kind, with -v all."""
    for head in _REMARKS:
        if cases := remarks.get(head):
            names = [f"{_case_name(nodeid)} ({text})" for nodeid, text in cases.items()]
            hint = " (-v shows all)" if verbosity < 1 and len(names) > _MOST else ""
            named = listed(names, len(names) if verbosity > 0 else _MOST)
            text = f"{head}, in {plural(len(names), 'case')}: {named}{hint}"
            yield from prose(text, "plain" if head == KNOWN else "warn", indent=0, width=width)


def _kinds_lines(head: str, kinds: Mapping[str, int], style: Style, width: int) -> list[Line]:
    """Count things by kind, the most frequent first."""
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    named = listed([f"{count:,} {kind}" for kind, count in ordered], WORST_FIELDS, "kinds")
    return prose(f"{head}: {named}", style, indent=0, width=width) if kinds else []


def failure_lines(totals: RunTotals, *, width: int) -> Iterator[Line]:
    """List why outputs were not scored, why cases ended in error or were not run, what requests could not ask for."""
    yield from _kinds_lines("unusable outputs", totals.unusable, "bad", width)
    for title in (Outcome.ERROR, Outcome.NOT_RUN, _CHANGED):
        reasons = totals.reasons[title].most_common()
        texts = [f"{plural(count, 'case')}: {reason}" for reason, count in reasons[:_MOST]]
        left = sum(count for _, count in reasons[_MOST:])
        texts += [f"{plural(left, 'case')} for other reasons"] if left else []
        for text in texts:
            reason = shorten(f"{title.replace('_', ' ')}: {text}", _LONGEST_REASON)
            yield from prose(reason, "warn", indent=0, width=width)


def _rule_lines(rules: Mapping[str, Mapping[RuleStatus, list[str]]], width: int) -> Iterator[Line]:
    """Tell of each rule across fields that does not hold in some output, or applies in none."""
    for name, found in rules.items():
        bad = [nodeid for status in (RuleStatus.BROKEN, RuleStatus.UNCHECKED) for nodeid in found.get(status, ())]
        if bad or RuleStatus.HELD not in found:
            counts = ", ".join(f"{status.text} in {len(where):,}" for status, where in found.items())
            cases = listed([*dict.fromkeys(map(_case_name, bad))])
            text = f"rule {name}: {counts} of {plural(sum(map(len, found.values())), 'output')}"
            yield from prose(f"{text} ({cases})" if cases else text, "warn", indent=0, width=width)


def spending_facts(spent: Spending, reruns: Spending = NOTHING) -> list[tuple[str, str, str]]:
    """Return what a run took: names, values, and notes on them; `reruns` is a part of `spent`."""
    facts = []
    if spent.prompt_tokens or spent.completion_tokens:
        facts.append(("tokens", f"{spent.prompt_tokens:,} in, {spent.completion_tokens:,} out", ""))
    if spent.calls > spent.unpriced:
        notes = [f"{reruns.cost_text} of it for {plural(reruns.calls, 'call')} before reruns"] if reruns.calls else []
        notes += [f"{_unknown_text(spent)} not counted"] if spent.unpriced else []
        facts.append(("cost", spent.cost_text, ", ".join(notes)))
    elif spent.uncounted or (facts and spent.calls):
        facts.append(("cost", "unknown", _unknown_text(spent)))
    if spent.recorded:
        facts.append(("recorded earlier", plural(spent.recorded, "output"), "nothing spent on them now"))
    return facts


def _unknown_text(spent: Spending) -> str:
    return ", ".join(f"{plural(count, 'call')} {what}" for count, what in spent.unknown)


VERDICTS: Final[Mapping[Shown | None, tuple[str, Style]]] = {
    Shown.HOLDS: ("holds", "good"),
    Shown.MISSED: ("misses", "bad"),
    Shown.UNDECIDED: ("has too few cases to show", "warn"),
    None: ("", "plain"),
}


def auto_accept_text(decision: AutoAcceptDecision) -> str:
    """Write one decision as a sentence."""
    variant = f"[{decision.variant}] " if decision.variant else ""
    cases, counts, precision = len(decision.counts.accepted), decision.counts.total, decision.rule.precision
    head = f"{variant}auto-accept at confidence {decision.rule.text}"
    if not counts.accepted:
        return f"{head}: no value reaches it, so nothing is shown"
    asked = f" {VERDICTS[decision.shown][0]} {100 * precision:g} %" if precision is not None else ""
    text = (
        f"{head}{asked}: {number_text(counts.accepted - counts.wrong)} of {number_text(counts.accepted)} accepted "
        f"values right ({percent(counts.precision)}), at least {percent_at_least(decision.counts.lowest)} by "
        f"case ({CONFIDENCE * 100:g} % sure); coverage {percent(counts.coverage)}, {plural(cases, 'case')}"
    )
    if precision is None or decision.shown is not Shown.UNDECIDED:
        return text
    needed = decision.counts.needed(precision) or 0
    few = f"about {needed:,} cases without a wrong value" if needed > cases else "more cases at this rate"
    return f"{text}; {few} would show it"


def percent_at_least(share: float) -> str:
    """Write a lower bound as percent: never more than it is."""
    return percent(int(share * 1000 + 1e-9) / 1000)


def auto_accept_lines(decisions: Sequence[AutoAcceptDecision], *, width: int) -> Iterator[Line]:
    """Write a sentence a decision, and the fields of accepted values that are wrong."""
    for decision in decisions:
        yield from prose(auto_accept_text(decision), VERDICTS[decision.shown][1], indent=0, width=width)
        if decision.wrong:
            wrong = [f"{pattern} {count:,}" for pattern, count in decision.wrong.most_common()]
            yield told(f"accepted and wrong: {listed(wrong, nouns='fields')}", indent=2)


def forecast_lines(forecasts: Sequence[Forecast]) -> Iterator[Line]:
    """Estimate the calls and the cost of a run before any call."""
    calls = sum(one.calls for one in forecasts)
    recorded = sum(one.recorded for one in forecasts)
    unpriced = sum(one.calls for one in forecasts if one.cost_usd is None)
    cost = sum(one.cost_usd or 0.0 for one in forecasts)
    yield line(Span(plural(len(forecasts), "case"), "head"), f": {plural(calls, 'call')}, {recorded:,} recorded")
    if unpriced < calls or not calls:
        yield line(f"cost: about ${cost:,.4f}")
    if unpriced:
        yield line(Span(f"{plural(unpriced, 'call')} without a known price, not counted", "warn"))


def list_tables(results: Iterable[CaseResult]) -> Iterator[Table]:
    """Write the recall of rows by position and by length as tables, for the lists that lack the most rows."""
    from pytest_extract.core.aggregate.slices import BOUNDS, list_recalls

    starts = {end: start + 1 for start, end in pairwise((0, *BOUNDS))}
    names = {end: f"to {end:,}" for end in BOUNDS[:-1]} | {BOUNDS[-1]: "and more"}
    heads = ("row, or length", "rows at it", "found", "rows in lists of it", "found")
    for recall in list_recalls(results)[:_MOST]:
        positions, lengths = recall.by_position, recall.by_length
        rows = [
            (f"{starts[end]:,} {names[end]}", *_recall_cells(positions.get(end)), *_recall_cells(lengths.get(end)))
            for end in sorted({*positions, *lengths})
        ]
        notes = [f"{plural(recall.lists, 'list')}; {safe_prose(recall.pattern)} {_edge_text(recall)}"]
        yield Table(heads, rows, f"{safe_prose(_list_name(recall))}: rows found", notes)


def _list_name(recall: ListRecall) -> str:
    return f"{recall.pattern} [{recall.variant}]" if recall.variant else recall.pattern


def _recall_cells(recall: Recall | None) -> tuple[str, str]:
    return ("-", "-") if recall is None else (f"{recall.rows:,}", percent(recall.share))


def _edge_text(recall: ListRecall) -> str:
    """Say up to where a list is complete, and how many rows are found beyond."""
    edge = recall.edge
    if edge is None:
        return f"breaks off nowhere, up to {plural(recall.longest, 'row')}"
    bounds = "" if edge.low == edge.high else f" (95 %: {edge.low:,} to {edge.high:,})"
    if edge.by == "position":
        where = f"to row {edge.at:,}{bounds}"
    else:
        where = f"in lists of up to {plural(edge.at, 'row')}{bounds}"
    whole = "is complete" if edge.before > 0.995 else f"has {percent(edge.before)} of its rows"
    return f"{whole} {where}, and has {percent(edge.after)} of those beyond"


_WITHOUT = "without-"


def altered_tables(results: Iterable[CaseResult]) -> list[Table]:
    """Set values that are invented where they are absent beside those that are found, and altered beside plain cases.

    Nothing for a run without altered documents. A case in error or not run is in no row.
    """
    scored = [result for result in results if result.scores]
    plain = {(each.file, each.case_id, each.variant.label): each for each in scored if not each.altered}
    pairs: dict[str, list[tuple[CaseResult, CaseResult]]] = defaultdict(list)
    for result in scored:
        case = result.case_id.removesuffix(f"[{result.altered}]")
        if result.altered and (present := plain.get((result.file, case, result.variant.label))) is not None:
            pairs[result.altered].append((present, result))
    absent: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    falls = []
    for name, found in sorted(pairs.items()):
        if name.startswith(_WITHOUT):
            place = FieldPath.parse(name.removeprefix(_WITHOUT))
            for present, missing in found:
                passed = [leaf.passed for score in present.scores for leaf in score.leaves if leaf.path == place]
                breaches = {breach.what for attempt in missing.attempts for breach in attempt.breaches}
                absent[pattern_of(place)].append((bool(passed) and all(passed), f"absent.{place}" in breaches))
        else:
            before, after = (fsum(pair[side].means["pass_rate"] for pair in found) / len(found) for side in (0, 1))
            change = f"{100 * (after - before):+.1f} points"
            falls.append((name, f"{len(found):,}", percent(before), percent(after), change))
    invented_most = sorted(absent.items(), key=lambda item: (-sum(invented for _, invented in item[1]), item[0]))
    shares = [(pattern, *map(_count_share, zip(*found, strict=True))) for pattern, found in invented_most]
    tables = (
        Table(("field", "found when present", "invented when absent"), shares, "absence under test"),
        Table(("document", "cases", "plain", "altered", "change"), falls, "altered documents: fields right"),
    )
    return [table for table in tables if table.rows]


def _count_share(values: Sequence[bool]) -> str:
    return f"{sum(values):,} of {len(values):,} ({percent(sum(values) / len(values))})"
