"""The end of a session: exit status and terminal summary."""

from __future__ import annotations

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.plugin.gather import gathered_of
from pytest_extract.plugin.session import started_run
from pytest_extract.plugin.show import write_lines
from pytest_extract.report.summary import summary_lines


def finish(session: pytest.Session) -> None:
    """Close the results file; a run that left cases out for want of budget is not green."""
    gathered = gathered_of(session.config)
    gathered.close()
    run = started_run(session.config)
    if run is not None:
        run.calls.close()
    left_out = any(result.outcome is Outcome.NOT_RUN for result in gathered.results.values())
    if left_out and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.INTERRUPTED


def write_summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the summary of all cases of the run."""
    gathered = gathered_of(config)
    results = list(gathered.results.values())
    if not results or config.get_verbosity() < -1:
        return
    reporter.section("extraction")
    writer = reporter._tw  # noqa: SLF001  # the reporter's own write() styles whole lines only
    write_lines(writer, summary_lines(results, width=writer.fullwidth, verbosity=config.get_verbosity()))
