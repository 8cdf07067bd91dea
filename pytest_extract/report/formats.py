"""The formats of reports: one table for the option, the command and the manual, and the way they are written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pytest_extract.report.lines import Line
    from pytest_extract.report.run_report import RunReport


class Format(NamedTuple):
    """A row of the table.

    `writer` names the function that turns a run into text; of a format of `results`, one that writes results into a
    file. It is imported where it is used: an option reads this table in runs without a case, too. `check` names the
    one that raises ConfigError where this needs what is not installed. A run of pytest writes a `live` format itself,
    case by case, so that a killed run keeps what it had.
    """

    name: str
    suffix: str | None
    help: str
    writer: str
    results: bool = False
    check: str = ""
    live: bool = False

    @property
    def example(self) -> str:
        """How a file of this format is asked for."""
        return f"{self.name}:FILE" if self.suffix is None else f"FILE{self.suffix}"

    def write(self, path: Path, run: RunReport) -> None:
        """Write a run into a file."""
        from pytest_extract.files import write_atomic

        writer = resolve_name(f"pytest_extract.{self.writer}")
        if self.results:
            writer(path, run.results)
        else:
            write_atomic(path, writer(run))


_PARQUET: Final = "everything, a row for each attempt"
_AGENT: Final = "what to fix first, for a coding agent, in at most 4,000 tokens"
_GITLAB: Final = "code quality for GitLab, an issue for each case that is not green"
FORMATS: Final = (
    Format("html", ".html", "one HTML page that works offline", "report.html.page:page"),
    Format("markdown", ".md", "Markdown for a comment on a change", "report.markdown:markdown"),
    Format("csv", ".csv", "a row for each compared value", "report.exports:csv_table"),
    Format("jsonl", ".jsonl", "everything, a line for each case", "results:write_results", results=True, live=True),
    Format("parquet", ".parquet", _PARQUET, "results:write_parquet", results=True, check="results:import_pyarrow"),
    Format("agent", None, _AGENT, "report.markdown:agent_report"),
    Format("gitlab", None, _GITLAB, "report.exports:code_quality"),
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
    names, suffixes = {each.name: each for each in FORMATS}, {each.suffix: each for each in FORMATS if each.suffix}
    begins = bool(rest) and len(name) > 1 and name.isalpha()  # not a drive of Windows
    suffix = Path(text).suffix.lower()
    found = names.get(name) if begins else suffixes.get(suffix)
    if found is not None:
        return ReportFile(found, Path(rest if begins else text))
    from pytest_extract.errors import closest

    raise ValueError(
        f"must end in {', '.join(suffixes)}, or begin with a format, as {FORMATS[-1].example} does "
        f"(formats: {', '.join(names)}){closest(name, names) if begins else closest(suffix, suffixes)}"
    )


def report_problems(files: Iterable[ReportFile]) -> list[str]:
    """Say which reports cannot be written, found out by trying; nothing of that stays."""
    from pytest_extract.errors import ConfigError, NotWritten
    from pytest_extract.files import check_file

    problems = []
    for each in files:
        try:
            if each.format.check:
                resolve_name(f"pytest_extract.{each.format.check}")()
            check_file(each.path)
        except (NotWritten, ConfigError) as error:
            why = f"{error.reason}; name a file that can be written" if isinstance(error, NotWritten) else error
            problems.append(f"cannot write {each.path}: {why}")
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
        except Exception as error:  # noqa: BLE001  # the other reports, and the summary, are still possible
            known = isinstance(error, StoreError)
            problems.append(line(Span(str(error) if known else render_error(f"the report {each.path}", error), "bad")))
    return [line("reports: ", ", ".join(written)), *problems] if written else problems
