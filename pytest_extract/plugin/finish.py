"""The end of a session: what the run's gate says, the exit status, the terminal summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.plugin.limits import remove_limit
from pytest_extract.plugin.run_results import RunResults, run_results_of
from pytest_extract.plugin.session import budget_of, started_session
from pytest_extract.plugin.terminal import write_lines
from pytest_extract.plugin.update_gold import gold_lines
from pytest_extract.plugin.write_errors import hidden_lines, refused_lines, write_error_lines
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.lines import Line, Span, line, plural, render_error, safe_prose
from pytest_extract.report.summary import forecast_lines, summary_lines

if TYPE_CHECKING:
    from pytest_extract.regression.gate import GateDecision

_END = pytest.StashKey["_End"]()
_REPORTS = pytest.StashKey[list[Line]]()
_MOST_CHOICES = 10
NOT_RUN_STATUS = pytest.ExitCode.INTERRUPTED
"""Exit status of a run that left cases out for want of budget and is green otherwise."""


def finish(session: pytest.Session, run_uid: str | None, mistakes: Sequence[str] = ()) -> None:
    """Close what is open; turn a green exit status red where cases were left out or the suite gate fails.

    `run_uid` is what xdist calls the run, None without it; `mistakes` is told of each case file that has some.
    """
    gathered = run_results_of(session.config)
    gathered.close()
    run = started_session(session.config)
    if run is not None:
        run.close()
    if run_uid is not None:
        remove_limit(run_uid)
    if hasattr(session.config, "workerinput"):
        return
    session.config.stash[_END] = end = _conclude(session, gathered)
    reports = _write_reports(session.config, gathered, mistakes)
    if session.exitstatus != pytest.ExitCode.OK:
        return
    if (
        not end.green
        or gathered.torn
        or gathered.unkept
        or any(change.kind == "updated" for change in gathered.golds.values())
        or any(span.style == "bad" for each in reports for span in each)
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif gathered.totals.outcomes[Outcome.NOT_RUN]:
        session.exitstatus = NOT_RUN_STATUS
    elif any(not passed for passed, _ in suite_gate(gathered)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """What the run comes to: its comparison; `beside`: the run against itself, and what became of the baseline."""

    judged: GateDecision | None = None
    beside: tuple[Line, ...] = ()
    green: bool = True


def _conclude(session: pytest.Session, gathered: RunResults) -> _End:
    settings = gathered.settings
    compared = settings.gate == "regression" or settings.baseline is not None
    compared = compared or len(gathered.totals.arms) > 1
    if not (compared or settings.aa):
        return _End()
    from pytest_extract.plugin.regression import against_itself, failed, judgement, write_baseline

    beside = tuple(against_itself(gathered))
    if gathered.forecasts or not compared:
        return _End(beside=beside)
    judged = judgement(session.config, gathered)
    baseline = write_baseline(session, gathered)
    if baseline is not None:
        written, text = baseline
        beside += (line(Span(text, "good" if written else "bad")),)
    green = not failed(judged, settings) and (baseline is None or baseline[0])
    return _End(judged=judged, beside=beside, green=green)


def _write_reports(config: pytest.Config, gathered: RunResults, mistakes: Sequence[str]) -> list[Line]:
    settings = gathered.settings
    if not (settings.html or settings.markdown or settings.csv) or not (gathered.results or mistakes):
        return []
    from pytest_extract.plugin.report_files import write_reports
    from pytest_extract.report.files import written_now
    from pytest_extract.report.run_report import RunReport

    end = config.stash.get(_END, _End())
    run = RunReport(
        results=gathered.results,
        gate=settings.gate,
        inconclusive=settings.inconclusive,
        judged=end.judged,
        suite=suite_gate(gathered),
        mistakes=mistakes,
        expected=frozenset(gathered.expected),
        lines=[
            *write_error_lines(gathered.unkept),
            *refused_lines(gathered.refused),
            *hidden_lines(gathered.hidden),
            *gold_lines(gathered.golds, config.rootpath),
            *_choice_lines(config, gathered),
            *end.beside,
        ],
        judge=gathered.judged,
        written=written_now(),
    )
    config.stash[_REPORTS] = lines = write_reports(settings, run)
    return lines


def suite_gate(gathered: RunResults) -> list[tuple[bool, str]]:
    """Hold each arm's means against `extract_suite_thresholds`; a run in which nothing was scored does not pass."""
    settings = gathered.settings
    if settings.gate != "suite" or gathered.forecasts:
        return []
    from pytest_extract.regression.suite import check_suite

    verdict = check_suite(gathered.results, settings.suite_thresholds)
    reached = [(True, f"{row.text} reaches {row.bound:g}") for row in verdict.rows if row.passed]
    told = [*reached, *((False, reason) for reason in verdict.reasons)]
    return [(passed, f"suite gate: {text}") for passed, text in told]


def write_summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the summary of all cases of the run."""
    gathered = run_results_of(config)
    writer = reporter._tw  # noqa: SLF001  # the reporter's own write() styles whole lines only
    if gathered.forecasts:
        reporter.section("extraction forecast")
        write_lines(writer, forecast_lines(gathered.forecasts))
    if not gathered.results or config.get_verbosity() < -1:
        return
    if gathered.settings.gate != "case" and config.getoption("tbstyle", "auto") != "no":
        _write_below(reporter, writer, gathered)
    reporter.section("extraction")
    write_lines(writer, _shown("the summary", lambda: _summary_lines(config, gathered, writer.fullwidth)))
    write_lines(
        writer, [*gold_lines(gathered.golds, config.rootpath), *_choice_lines(config, gathered), *_gate_lines(gathered)]
    )
    write_lines(writer, _shown("the comparison", lambda: _compared_lines(config, gathered, writer.fullwidth)))
    if _REPORTS in config.stash:
        reports: list[Line] = config.stash[_REPORTS]
        write_lines(writer, reports)
    write_lines(writer, write_error_lines(gathered.unkept))
    write_lines(writer, [*refused_lines(gathered.refused), *hidden_lines(gathered.hidden)])
    purse = budget_of(config, gathered.settings.budget)
    if purse is not None and (overrun := purse.overrun()) is not None:
        write_lines(writer, [line(Span(overrun, "warn"))])
    if gathered.torn is not None:
        write_lines(writer, [line(Span(gathered.torn, "bad"))])


def _shown(what: str, make: Callable[[], list[Line]]) -> list[Line]:
    """Return the lines of one part of the summary, or why they cannot be shown: the other parts still can."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001
        return [line(Span(render_error(what, error), "bad"))]


def _summary_lines(config: pytest.Config, gathered: RunResults, width: int) -> list[Line]:
    results, totals, verbosity = gathered.results, gathered.totals, config.get_verbosity()
    lines = summary_lines(
        results,
        totals=totals,
        judge=gathered.judged,
        expected=len(gathered.expected),
        width=width,
        verbosity=verbosity,
    )
    if totals.repeated:
        from pytest_extract.report.gate import repeat_lines

        lines += repeat_lines(results, verbosity=verbosity)
    return lines


def _compared_lines(config: pytest.Config, gathered: RunResults, width: int) -> list[Line]:
    end = config.stash.get(_END, _End())
    settings = gathered.settings
    if not (end.judged or end.beside or settings.gate == "regression"):
        return []
    from pytest_extract.plugin.regression import lines_of

    return [*lines_of(end.judged, settings, width=width, verbosity=config.get_verbosity()), *end.beside]


def _choice_lines(config: pytest.Config, gathered: RunResults) -> list[Line]:
    """Tell what `--extract-changed` had called, and why; the rest was replayed."""
    if not gathered.choices:
        return []
    live = {nodeid: "; ".join(one.reasons) for nodeid, one in gathered.choices.items() if one.live}
    same = {nodeid: one.same_as for nodeid, one in gathered.choices.items() if one.same_as and not one.live}
    count = f"{len(live)} of {plural(len(gathered.choices), 'case')} called"
    lines = [line(f"changed since {gathered.settings.changed}: {count}, the others replayed")]
    lines += _listed([f"{nodeid}: {why}" for nodeid, why in live.items()], config)
    if same:
        lines.append(line(f"{plural(len(same), 'replayed case')} had another name there, and the same inputs:"))
        lines += _listed([f"{nodeid}: as {name}" for nodeid, name in same.items()], config)
    return lines


def _listed(texts: Sequence[str], config: pytest.Config) -> list[Line]:
    shown = texts if config.get_verbosity() > 0 else texts[:_MOST_CHOICES]
    lines = [line(safe_prose(text), indent=2) for text in shown]
    if len(shown) < len(texts):
        lines.append(line(f"and {len(texts) - len(shown)} more (-v shows all)", indent=2))
    return lines


def _gate_lines(gathered: RunResults) -> list[Line]:
    return [line(Span(text, "good" if passed else "bad")) for passed, text in suite_gate(gathered)]


def _write_below(reporter: pytest.TerminalReporter, writer: Any, gathered: RunResults) -> None:
    """Show the cases below their thresholds when they are not what the run is judged by: pytest calls them passed."""
    if not gathered.totals.outcomes[Outcome.FAILED]:
        return
    reporter.section("below their thresholds")
    look = replace(
        DiffOptions(verbosity=reporter.config.get_verbosity(), brief=True), width=max(writer.fullwidth - 1, 40)
    )
    for result in gathered.results:
        if result.outcome is Outcome.FAILED:
            writer.line(safe_prose(result.nodeid), bold=True)
            write_lines(writer, case_lines(result, look))
