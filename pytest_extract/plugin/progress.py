"""A line on a long run, now and then: cases done, errors, cost and its forecast, rate and time left."""

from __future__ import annotations

import os
import time
from typing import Final

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.plugin.run_results import RunResults
from pytest_extract.report.lines import plural

EVERY_S: Final = {"terminal": 10.0, "CI": 60.0}
"""Seconds between two lines; elsewhere (a pipe, a file) there is none."""


class Progress:
    """Tells how far a run is, on a terminal and in CI, unless pytest is to be quiet.

    `cases`: how many will run, 0 until they are collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
        on_terminal = self._reporter is not None and self._reporter.isatty
        place = "terminal" if on_terminal else "CI" if os.environ.get("CI") else None
        self._every_s = None if place is None or config.get_verbosity() < 0 else EVERY_S[place]
        self._started = self._told = time.monotonic()
        self.cases = 0

    def tell(self, run_results: RunResults) -> None:
        """Write a line if it is time for one."""
        now = time.monotonic()
        if self._reporter is None or self._every_s is None or now - self._told < self._every_s:
            return
        self._told = now
        if self._reporter._tw.width_of_current_line:  # noqa: SLF001  # `ensure_newline` does not know xdist's dots
            self._reporter.write("\n")
            self._reporter.currentfspath = None
        self._reporter.write_line(self._text(run_results, now - self._started))

    def _text(self, run_results: RunResults, seconds: float) -> str:
        """Return `120 of 200 cases, 2 errors, $4.10 of about $6.83, 2.1 cases a second, 38 s left`."""
        done, spent = len(run_results.results), run_results.spending
        parts = [f"{done:,} of {plural(max(self.cases, done), 'case')}"]
        errors = run_results.totals.outcomes[Outcome.BROKEN]
        if errors:
            parts.append(plural(errors, "error"))
        if spent.calls > spent.unpriced:
            forecast = spent.cost_usd * max(self.cases, done) / done
            parts.append(f"${spent.cost_usd:,.2f} of about ${forecast:,.2f}")
        rate = done / seconds
        parts.append(f"{rate:,.1f} cases a second" if rate >= 1 else f"{60 * rate:,.1f} cases a minute")
        parts.append(f"{_duration((self.cases - done) / rate)} left")
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
