"""The end of a session: the decision of the gate, the exit status, reports as files and the terminal summary."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_extract.core.case_result import Outcome
from pytest_extract.core.words import first_of, listed, plural
from pytest_extract.plugin.extraction import budget_of
from pytest_extract.plugin.items import ExtractItem, write_case, write_lines
from pytest_extract.plugin.options import SETTINGS
from pytest_extract.plugin.run_results import RunResults, run_results_of
from pytest_extract.plugin.session import leave_after, started_session
from pytest_extract.report.lines import Line, Style, line, render_error, safe_prose, text_of, told
from pytest_extract.report.summary import forecast_lines, summary_lines

if TYPE_CHECKING:
    from pytest_extract.plugin.update_gold import GoldChange
    from pytest_extract.regression.gate import GateDecision

_CONCLUSION = pytest.StashKey["_Conclusion"]()
_SIGNS: Final = 4
"""Columns for the signs and spaces around the title of a section."""
_MOST_SHOWN: Final = 10


def finish(session: pytest.Session, mistakes: Sequence[str] = ()) -> None:
    """Close what is open; turn a green exit status red where cases were left out or a gate fails.

    `mistakes` are the collection errors of case files.
    """
    config = session.config
    run_results = run_results_of(config)
    run_results.has_mistakes = bool(mistakes)
    run_results.close(drops_earlier=_replaces_reports(config, run_results))
    started = started_session(config)
    if started is not None:
        leave_after(session, interrupted=started.stopped)
        started.close()
        if started.gold_writer is not None:
            started.gold_writer.write_drafts()
    if hasattr(config, "workerinput"):
        return
    config.stash[_CONCLUSION] = conclusion = _conclude(session, run_results)
    _write_reports(config, run_results, conclusion, mistakes)
    if session.exitstatus != pytest.ExitCode.OK:
        return
    if (
        not conclusion.green
        or run_results.incomplete
        or any(style == "bad" for style, _ in run_results.notes)
        or any(change.needs_review for change in _gold_changes(config).values())
        or any(span.style == "bad" for each in (*conclusion.baseline, *conclusion.reports) for span in each)
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif run_results.totals.outcomes[Outcome.NOT_RUN]:
        session.exitstatus = pytest.ExitCode.INTERRUPTED  # green otherwise, but cases were left out for want of budget
    elif any(not passed for passed, _ in conclusion.suite):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif run_results.totals.auto_accept.by_rule:
        from pytest_extract.report.run_report import auto_accept_problems

        settings = run_results.settings
        if auto_accept_problems(run_results.totals, settings.gate, settings.rules.get("inconclusive")):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _gold_changes(config: pytest.Config) -> Mapping[str, GoldChange]:
    started = started_session(config)
    return {} if started is None or started.gold_writer is None else started.gold_writer.changes


def _replaces_reports(config: pytest.Config, run_results: RunResults) -> bool:
    """Whether the run had a case, or one that could not be read: the reports of an earlier run are not its own."""
    return (run_results.selected_cases or run_results.has_mistakes) and not config.option.collectonly


@dataclass(slots=True, kw_only=True)
class _Conclusion:
    """What the run comes to: the gates, and lines on the baseline and the reports that were written.

    `word`: the verdict of the regression gate, where it decides about the run.
    """

    decision: GateDecision | None = None
    word: str | None = None
    suite: Sequence[tuple[bool, str]] = ()
    green: bool = True
    baseline: list[Line] = field(default_factory=list)
    reports: list[Line] = field(default_factory=list)
    annotations: list[Line] = field(default_factory=list)


def _conclude(session: pytest.Session, run_results: RunResults) -> _Conclusion:
    settings = run_results.settings
    conclusion = _Conclusion()
    if settings.gate == "suite" and not run_results.forecasts and run_results.selected_cases:
        from pytest_extract.regression.suite import check_suite

        found = check_suite(run_results.results, settings.suite_thresholds)
        conclusion.suite = [(passed, f"suite gate: {text}") for passed, text in found]
    if settings.update_gold is not None or not (run_results.selected_cases or settings.update_baseline):
        return conclusion
    compared = settings.gate == "regression" or settings.baseline is not None
    if not (compared or len(run_results.totals.variants) > 1) or run_results.forecasts:
        return conclusion
    from pytest_extract.plugin.regression import decision_word, gate_decision, report_to_junit, write_baseline
    from pytest_extract.regression.gate import exit_status

    conclusion.decision = decision = gate_decision(session.config, run_results)
    conclusion.word = word = decision_word(decision, settings)
    conclusion.green = word is None or (decision is not None and exit_status(decision) == 0)
    if word is not None:
        report_to_junit(session.config, decision, word, green=conclusion.green)
    if decision is not None:
        session.config.hook.pytest_extract_verdict(config=session.config, verdict=decision)
    if settings.update_baseline and settings.baseline is not None:
        conclusion.baseline = write_baseline(session, run_results, settings.baseline)
    return conclusion


def _write_reports(
    config: pytest.Config, run_results: RunResults, conclusion: _Conclusion, mistakes: Sequence[str]
) -> None:
    """Write the report files; keep a line that names them, and one for each that could not be written."""
    settings = run_results.settings
    in_actions = settings.ci == "auto" and os.environ.get("GITHUB_ACTIONS") == "true"
    step_summary = os.environ.get("GITHUB_STEP_SUMMARY") if settings.ci == "auto" else None
    if not (settings.report or in_actions or step_summary) or not _replaces_reports(config, run_results):
        return
    from pytest_extract.report.exports import github_commands, problems_of
    from pytest_extract.report.formats import write_reports
    from pytest_extract.report.run_report import RunReport, case_finder, repository_root, run_facts, written_now

    report = RunReport(
        results=run_results.results,
        gate=settings.gate,
        inconclusive=settings.rules.get("inconclusive"),
        judged=conclusion.decision,
        suite=conclusion.suite,
        mistakes=mistakes,
        expected=frozenset(run_results.expected),
        lines=[*_note_lines(config, run_results), *conclusion.baseline],
        judge=run_results.judge_spending,
        reruns=run_results.reruns,
        written=written_now(),
        by=settings.by,
        facts=run_facts(config.rootpath, config.invocation_params.args),
        find_case=case_finder(config.rootpath),
        pages=settings.html_pages,
        root=repository_root(config.rootpath),
    )
    whole = [each for each in settings.report if each.path not in run_results.incomplete]
    conclusion.reports = write_reports(whole, report, live=True)
    if step_summary and Path(step_summary) not in {each.path for each in settings.report}:
        from pytest_extract.report.markdown import markdown

        def append() -> list[Line]:
            text = f"{markdown(report)}\n".encode("utf-8", "replace")
            try:
                with Path(step_summary).open("ab") as file:
                    file.write(text)
            except OSError as error:
                return [told(f"GITHUB_STEP_SUMMARY: cannot write {step_summary}: {error.strerror}", "warn")]
            return []

        conclusion.reports += _lines_or_error("the job's summary", append, "warn")
    if in_actions:
        conclusion.annotations = _lines_or_error(
            "the annotations", lambda: [line(command) for command in github_commands(problems_of(report))], "warn"
        )


def write_summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the summary of all cases of the run."""
    run_results = run_results_of(config)
    settings = run_results.settings
    conclusion = config.stash.get(_CONCLUSION, _Conclusion())
    writer = reporter._tw  # noqa: SLF001  # the reporter's own write() styles whole lines only
    for command in conclusion.annotations:  # without colours: GitHub reads them from the log
        writer.line(text_of(command))
    if run_results.forecasts:
        reporter.section("extraction forecast")
        write_lines(writer, forecast_lines(run_results.forecasts))
    if config.get_verbosity() < -1:
        return
    suite = [told(text, "good" if passed else "bad") for passed, text in conclusion.suite]
    if not run_results.results:
        lines = [*suite, *conclusion.baseline, *conclusion.reports]
        if not (_replaces_reports(config, run_results) or config.option.collectonly):
            kept = [str(path) for _, path in settings.report if path.is_file() and path.stat().st_size]
            lines += [told(f"no case ran: of an earlier run: {', '.join(kept)}")] if kept else []
        if not lines and settings.gate == "case":  # then pytest's own count says it
            return
        if run_results.skipped:
            lines.insert(0, told(f"no case ran: {plural(run_results.skipped, 'case')} skipped", "warn"))
        reporter.section("extraction")
        write_lines(writer, lines)
        return
    if (
        settings.gate != "case"
        and run_results.totals.outcomes[Outcome.FAILED]
        and config.getoption("tbstyle", "auto") != "no"
    ):  # they do not fail the run, and pytest counts them as passed
        reporter.section("below their thresholds")
        for result in run_results.results:
            if result.outcome is Outcome.FAILED:
                writer.line(safe_prose(result.nodeid), bold=True)
                write_case(writer, result, config)
    reporter.section("extraction")
    width = writer.fullwidth
    budget = budget_of(config)
    lines = [
        *_lines_or_error("the summary", lambda: _summary_lines(config, run_results, width)),
        *suite,
        *_lines_or_error("the comparison", lambda: _changed_lines(config, conclusion.decision, width)),
        *conclusion.baseline,
        *conclusion.reports,
        *_note_lines(config, run_results),
        *(told(text, "warn") for text in ([] if budget is None else budget.notes())),
        *(told(why, "bad") for why in run_results.incomplete.values()),
    ]
    write_lines(writer, lines)
    if settings.update_gold == "review" and reporter._session is not None:  # noqa: SLF001
        _review(config, run_results, reporter._session)  # noqa: SLF001


def _review(config: pytest.Config, run_results: RunResults, session: pytest.Session) -> None:
    """`--extract-update-gold=review`: ask for each failing value; the run is red whatever is decided."""
    from pytest_extract.cli.golds import ask_in_terminal, user_name
    from pytest_extract.golds.review import Reviewer, failing_items, merged_items

    notes: list[str] = []
    cases = [item.case for item in session.items if isinstance(item, ExtractItem)]
    items = merged_items(failing_items(cases, run_results.results, notes, config.rootpath))
    if not items:
        return
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        ask_in_terminal(Reviewer(user_name(), items, cases))


def _lines_or_error(part: str, make: Callable[[], list[Line]], style: Style = "bad") -> list[Line]:
    """Return the lines of a part of the summary, or why they cannot be made: the other parts are still shown."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001
        return [told(render_error(part, error), style)]


def _summary_lines(config: pytest.Config, run_results: RunResults, width: int) -> list[Line]:
    results, totals, verbosity = run_results.results, run_results.totals, config.get_verbosity()
    lines = summary_lines(
        results,
        totals=totals,
        judge=run_results.judge_spending,
        reruns=run_results.reruns,
        expected=len(run_results.expected),
        width=width,
        verbosity=verbosity,
        golds=not any(change.is_draft for change in _gold_changes(config).values()),
        diffs=config.getoption("tbstyle", "auto") not in {"no", "line"},
    )
    if totals.repeated:
        from pytest_extract.report.run_report import repeat_lines

        lines += repeat_lines(results, verbosity=verbosity)
    if run_results.settings.by:
        from pytest_extract.core.aggregate.slices import slice_tables
        from pytest_extract.report.aggregates import slice_table, unknown_tag_notes

        tables = slice_tables(results, run_results.settings.by)
        lines += [each for table in tables if table.is_known for each in slice_table(table).lines(width)]
        notes = unknown_tag_notes(results, run_results.settings.by)
        lines += [told(f"--extract-by: {note}", "warn") for note in notes]
    return lines


def _changed_lines(config: pytest.Config, decision: GateDecision | None, width: int) -> list[Line]:
    if decision is None:
        return []
    from pytest_extract.report.run_report import changed_lines

    return [*changed_lines(decision, width=width, verbosity=config.get_verbosity())]


def write_verdict(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the verdict on a comparison; where it is that of the regression gate, pytest's last line says it too."""
    conclusion = config.stash.get(_CONCLUSION, _Conclusion())
    decision, word = conclusion.decision, conclusion.word
    if (decision is None and word is None) or config.get_verbosity() < -1:
        return
    from pytest_extract.plugin.regression import decision_lines
    from pytest_extract.report.lines import shorten
    from pytest_extract.report.run_report import comparison_title

    writer = reporter._tw  # noqa: SLF001
    title = comparison_title(decision, is_gate=config.stash[SETTINGS].gate == "regression")
    reporter.section(shorten(title, writer.fullwidth - _SIGNS))
    write_lines(
        writer, _lines_or_error("the verdict", lambda: decision_lines(decision, verbosity=config.get_verbosity()))
    )
    if word is not None:
        reporter.stats.setdefault(f"verdict: {word}", [decision])


def _note_lines(config: pytest.Config, run_results: RunResults) -> list[Line]:
    """Return what else is to be known of the run: golds, what was called, not recorded, made by other code, hidden."""
    lines: list[Line] = []
    if changes := _gold_changes(config):
        from pytest_extract.plugin.update_gold import gold_lines

        lines += gold_lines(changes, config.rootpath)
    is_verbose = config.get_verbosity() > 0
    if selections := run_results.selections:  # which cases `--extract-changed` had called, and why
        live = [f"{nodeid}: {'; '.join(one.reasons)}" for nodeid, one in selections.items() if one.live]
        called = f"{len(live)} of {plural(len(selections), 'case')} called"
        lines.append(told(f"changed since {run_results.settings.changed}: {called}, the others replayed"))
        lines += [told(text, indent=2) for text in first_of(live, len(live) if is_verbose else _MOST_SHOWN)]
        unknown = dict.fromkeys(name for one in selections.values() if not one.live for name in one.unknown)
        if unknown:
            declare = "declare in extract_files what the extractor reads"
            text = f"{listed([*unknown])} changed, and no case of this run has it: {declare}"
            lines.append(told(text, "warn"))
    notes = sorted(run_results.notes.items(), key=lambda note: (note[0][0] != "bad", -note[1]))
    most = len(notes) if is_verbose else _MOST_SHOWN
    for (style, text), count in notes[:most]:
        lines.append(told(text if count == 1 else f"{count:,} times: {text}", style))
    if len(notes) > most:
        lines.append(told(f"… and {plural(len(notes) - most, 'more note')} (-v shows all)", "warn"))
    return lines
