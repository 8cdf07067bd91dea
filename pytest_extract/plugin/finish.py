"""The end of a session: what the run's gate says, the exit status, the terminal summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.plugin.gather import Gathered, gathered_of
from pytest_extract.plugin.session import started_run
from pytest_extract.plugin.show import write_lines
from pytest_extract.plugin.slots import remove_slots
from pytest_extract.report.diff import Look, case_lines
from pytest_extract.report.lines import Line, Span, line, number, safe_prose
from pytest_extract.report.summary import forecast_lines, measure_means, summary_lines

NOT_RUN_STATUS = pytest.ExitCode.INTERRUPTED
"""Exit status of a run that left cases out for want of budget and is green otherwise."""


def finish(session: pytest.Session, run_uid: str | None) -> None:
    """Close what is open; turn a green exit status red where cases were left out or the suite gate fails.

    `run_uid` is what xdist calls the run, None without it.
    """
    gathered = gathered_of(session.config)
    gathered.close()
    run = started_run(session.config)
    if run is not None:
        run.close()
    if run_uid is not None:
        remove_slots(run_uid)
    if session.exitstatus != pytest.ExitCode.OK or hasattr(session.config, "workerinput"):
        return
    if any(result.outcome is Outcome.NOT_RUN for result in gathered.results.values()):
        session.exitstatus = NOT_RUN_STATUS
    elif any(not passed for passed, _ in suite_gate(gathered)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def suite_gate(gathered: Gathered) -> list[tuple[bool, str]]:
    """Hold the run's means against `extract_suite_thresholds`; a run in which nothing was scored does not pass."""
    settings = gathered.settings
    if settings.gate != "suite" or not gathered.results:
        return []
    means = measure_means(gathered.results.values(), tuple(settings.suite_thresholds))
    return [_held(name, bound, means) for name, bound in settings.suite_thresholds.items()]


def _held(name: str, bound: float, means: Mapping[str, float]) -> tuple[bool, str]:
    if name not in means:
        return False, f"suite gate: {name} has no value, no case was scored"
    value = means[name]
    verb = "is below" if value < bound else "reaches"
    return value >= bound, f"suite gate: {name} {number(round(value, 6))} {verb} {bound:g}"


def write_summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the summary of all cases of the run."""
    gathered = gathered_of(config)
    writer = reporter._tw  # noqa: SLF001  # the reporter's own write() styles whole lines only
    if gathered.forecasts:
        reporter.section("extraction forecast")
        write_lines(writer, forecast_lines(gathered.forecasts))
    results = list(gathered.results.values())
    if not results or config.get_verbosity() < -1:
        return
    if gathered.settings.gate != "case" and config.getoption("tbstyle", "auto") != "no":
        _write_below(reporter, writer, [result for result in results if result.outcome is Outcome.FAILED])
    reporter.section("extraction")
    lines = summary_lines(results, judge=gathered.judged, width=writer.fullwidth, verbosity=config.get_verbosity())
    write_lines(writer, [*lines, *_gate_lines(gathered)])


def _gate_lines(gathered: Gathered) -> list[Line]:
    return [line(Span(text, "good" if passed else "bad")) for passed, text in suite_gate(gathered)]


def _write_below(reporter: pytest.TerminalReporter, writer: Any, results: Sequence[CaseResult]) -> None:
    """Show the cases below their thresholds when they are not what the run is judged by: pytest calls them passed."""
    if not results:
        return
    reporter.section("below their thresholds")
    look = replace(Look(verbosity=reporter.config.get_verbosity(), brief=True), width=max(writer.fullwidth - 1, 40))
    for result in results:
        writer.line(safe_prose(result.nodeid), bold=True)
        write_lines(writer, case_lines(result, look))
