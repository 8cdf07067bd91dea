"""The reports of a run as texts for the files that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_extract.report.run_report import RunReport


def report_texts(
    run: RunReport,
    *,
    html: Path | None,
    markdown: Path | None,
    csv: Path | None,
    comment: Path | None = None,
    code_quality: Path | None = None,
    root: Path,
) -> Iterator[tuple[Path, Callable[[], str]]]:
    """Yield each file that is asked for with what makes its text; paths of code quality are relative to `root`."""
    if html is not None:
        from pytest_extract.report.html.page import page

        yield html, lambda: page(run)
    if markdown is not None:
        from pytest_extract.report.markdown import markdown as as_markdown

        yield markdown, lambda: as_markdown(run)
    if csv is not None:
        from pytest_extract.report.csv_table import csv_table

        yield csv, lambda: csv_table(run.results, run.by)
    if comment is not None:
        from pytest_extract.report.ci import comment as as_comment

        yield comment, lambda: as_comment(run)
    if code_quality is not None:
        from pytest_extract.report.ci import code_quality as as_code_quality
        from pytest_extract.report.ci import problems_of, repository_root

        yield code_quality, lambda: as_code_quality(problems_of(run, repository_root(root)))


def written_now() -> str:
    """Say when and by what version a report is written."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    return f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, pytest-extract {version('pytest-extract')}"
