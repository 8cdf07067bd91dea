"""`--extract-html`, `--extract-markdown`, `--extract-csv`: reports of a run as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.errors import NotWritten, StoreError
from pytest_extract.files import check_file, check_folder, write_atomic
from pytest_extract.plugin.options import Settings
from pytest_extract.report.files import report_texts
from pytest_extract.report.lines import Line, Span, line, render_error
from pytest_extract.report.run_report import RunReport


def check_outputs(settings: Settings) -> None:
    """Try everything that this run will write, before anything is paid for; UsageError with all that cannot be."""
    files = {
        "html": settings.html,
        "markdown": settings.markdown,
        "csv": settings.csv,
        "results": settings.results,
        "baseline": settings.baseline if settings.update_baseline else None,
    }
    problems = [_problem(name, path, check_file, "name a file") for name, path in files.items() if path is not None]
    if settings.record not in {"off", "none"} and settings.from_results is None:
        problems.append(_problem("recordings", settings.recordings, check_folder, "name a folder"))
    told = [problem for problem in problems if problem is not None]
    if told:
        raise pytest.UsageError("\n".join(told))


def _problem(option: str, path: Path, check: Callable[[Path], None], wanted: str) -> str | None:
    try:
        check(path)
    except NotWritten as error:
        return f"--extract-{option}: cannot write {path}: {error.reason}; {wanted} that can be written"
    return None


def write_reports(settings: Settings, run: RunReport) -> list[Line]:
    """Write the reports that are asked for; return a line that names them, and one for each that failed."""
    lines: list[Line] = []
    written: list[str] = []
    for path, text_of_report in report_texts(run, html=settings.html, markdown=settings.markdown, csv=settings.csv):
        try:
            write_atomic(path, text_of_report())
            written.append(str(path))
        except StoreError as error:
            lines.append(line(Span(str(error), "bad")))
        except Exception as error:  # noqa: BLE001  # the other reports, and the summary, can still be had
            lines.append(line(Span(render_error(f"the report {path}", error), "bad")))
    return [line("reports: ", ", ".join(written)), *lines] if written else lines
