"""`--extract-html`, `--extract-markdown`, `--extract-csv`: reports of a run as files."""

from __future__ import annotations

import pytest

from pytest_extract.atomic import write_atomic
from pytest_extract.errors import StoreError
from pytest_extract.plugin.options import Settings
from pytest_extract.report.files import report_texts
from pytest_extract.report.lines import Line, Span, line
from pytest_extract.report.run_report import RunReport


def check_folders(settings: Settings) -> None:
    """Make the folders of the reports before anything is paid for; UsageError where that is not possible."""
    for path in (settings.html, settings.markdown, settings.csv):
        if path is not None and path.is_dir():
            raise pytest.UsageError(f"{path} is a folder: name a file for the report")
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise pytest.UsageError(f"no folder for the report {path}: {error.strerror}") from error


def write_reports(settings: Settings, run: RunReport) -> list[Line]:
    """Write the reports that are asked for; return a line that names them, and one for each that failed."""
    lines: list[Line] = []
    written: list[str] = []
    for path, text in report_texts(run, html=settings.html, markdown=settings.markdown, csv=settings.csv):
        try:
            write_atomic(path, text)
            written.append(str(path))
        except StoreError as error:
            lines.append(line(Span(str(error), "bad")))
    return [line("reports: ", ", ".join(written)), *lines] if written else lines
