"""The formats of reports: one table for the option, the command and the manual, and the way they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pytest_extract.report.lines import Line
    from pytest_extract.report.run_report import RunReport


class Format(NamedTuple):
    """A row of the table.

    `write` writes a run into a file; `check` raises ConfigError where this needs what is not installed. A run of pytest
    writes a `live` format itself, case by case, so that a killed run keeps what it had.
    """

    name: str
    suffix: str | None
    help: str
    write: Callable[[Path, RunReport], None]
    check: Callable[[], object] = bool
    live: bool = False

    @property
    def example(self) -> str:
        """How a file of this format is asked for."""
        return f"{self.name}:FILE" if self.suffix is None else f"FILE{self.suffix}"


def _write_text(path: Path, text: str) -> None:
    from pytest_extract.files import write_atomic  # an option reads this table in runs without a case, too

    write_atomic(path, text)


def _write_html(path: Path, run: RunReport) -> None:
    from pytest_extract.report.html.page import page

    _write_text(path, page(run))


def _write_markdown(path: Path, run: RunReport) -> None:
    from pytest_extract.report.markdown import markdown

    _write_text(path, markdown(run))


def _write_csv(path: Path, run: RunReport) -> None:
    from pytest_extract.report.exports import csv_table

    _write_text(path, csv_table(run))


def _write_results(path: Path, run: RunReport) -> None:
    from pytest_extract.results import write_results

    write_results(path, run.results)


def _write_parquet(path: Path, run: RunReport) -> None:
    from pytest_extract.results import write_parquet

    write_parquet(path, run.results)


def _find_pyarrow() -> object:
    from pytest_extract.results import import_pyarrow

    return import_pyarrow()


def _write_for_agent(path: Path, run: RunReport) -> None:
    from pytest_extract.report.agent import agent_report

    _write_text(path, agent_report(run))


def _write_gitlab(path: Path, run: RunReport) -> None:
    from pytest_extract.report.exports import code_quality, problems_of

    _write_text(path, code_quality(problems_of(run)))


FORMATS: Final = (
    Format("html", ".html", "one HTML page that works offline", _write_html),
    Format("markdown", ".md", "Markdown for a comment on a change", _write_markdown),
    Format("csv", ".csv", "a row for each compared value", _write_csv),
    Format("jsonl", ".jsonl", "everything, a line for each case", _write_results, live=True),
    Format("parquet", ".parquet", "everything, a row for each attempt", _write_parquet, _find_pyarrow),
    Format("agent", None, "what to fix first, for a coding agent, in at most 4,000 tokens", _write_for_agent),
    Format("gitlab", None, "code quality for GitLab, an issue for each failing field", _write_gitlab),
)

_SHOWN: Final = ", ".join(f"{each.suffix or each.example} ({each.help})" for each in FORMATS)
HELP: Final = f"Write a report of the run, in the format of the suffix or of a name before it: {_SHOWN}; repeatable."


class ReportFile(NamedTuple):
    """A report that is asked for."""

    format: Format
    path: Path


def report_file(text: str) -> ReportFile:
    """Read `page.html` or, with the name of a format, `gitlab:quality.json`; ValueError for anything else."""
    name, _, rest = text.partition(":")
    named = next((each for each in FORMATS if each.name == name and rest), None)
    if named is not None:
        return ReportFile(named, Path(rest))
    names = [each.name for each in FORMATS]
    if rest and len(name) > 1 and name.isalpha():  # not a drive of Windows
        from pytest_extract.errors import closest

        near = closest(name, names)
        raise ValueError(f"begins with no format (formats: {', '.join(names)}){near}; ./{text} is a file of that name")
    suffix = Path(text).suffix.lower()
    suffixes = {each.suffix: each for each in FORMATS if each.suffix is not None}
    if suffix not in suffixes:
        from pytest_extract.errors import closest

        raise ValueError(
            f"must end in {', '.join(suffixes)}, or begin with a format, as {FORMATS[-1].example} does "
            f"(formats: {', '.join(names)}){closest(suffix, suffixes)}"
        )
    return ReportFile(suffixes[suffix], Path(text))


def report_problems(files: Iterable[ReportFile]) -> list[str]:
    """Say which reports cannot be written, found out by trying; nothing of that stays."""
    from pytest_extract.errors import ConfigError, NotWritten
    from pytest_extract.files import check_file

    problems = []
    for each in files:
        try:
            each.format.check()
            check_file(each.path)
        except NotWritten as error:
            problems.append(f"cannot write {each.path}: {error.reason}; name a file that can be written")
        except ConfigError as error:
            problems.append(f"cannot write {each.path}: {error}")
    return problems


def write_reports(files: Iterable[ReportFile], run: RunReport, *, live: bool = False) -> list[Line]:
    """Write reports; return a line that names them, and a bad one for each that could not be written.

    `live`: those of a live format are there already.
    """
    from pytest_extract.errors import StoreError
    from pytest_extract.report.lines import Span, line, render_error

    written, problems = [], []
    for each in files:
        try:
            if not (live and each.format.live):
                each.format.write(each.path, run)
            written.append(str(each.path))
        except StoreError as error:
            problems.append(line(Span(str(error), "bad")))
        except Exception as error:  # noqa: BLE001  # the other reports, and the summary, are still possible
            problems.append(line(Span(render_error(f"the report {each.path}", error), "bad")))
    return [line("reports: ", ", ".join(written)), *problems] if written else problems
