"""A case's result travels on pytest's report as text and builtins, which xdist sends to the controller."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from _pytest._code.code import ExceptionRepr, ReprFileLocation

from pytest_extract.core.case_result import CaseResult, Outcome, Spending, Variant
from pytest_extract.errors import ExtractError
from pytest_extract.plugin.items import ExtractItem, escape_name
from pytest_extract.plugin.run_results import RunResults, StoredResult, run_results_of
from pytest_extract.plugin.session import session_of
from pytest_extract.plugin.terminal import BrokenRepr, CaseRepr, clean_report
from pytest_extract.redact import TALLY
from pytest_extract.report.summary import Forecast
from pytest_extract.results import dump_result, load_result, safe_form

RESULT = "extract_result"
RESULT_OBJECT = "extract_result_object"
"""The same for who gets the report in the process that made it; None under xdist, which sends builtins only."""
OUTCOME = "extract_outcome"
STANDS = "extract_result_stands"
CASE_REPR = "extract_case_repr"
GOLD_CHANGE = "extract_gold_change"
JUDGE_SPENDING = "extract_judge_spending"
FORECAST = "extract_forecast"
SELECTION = "extract_selection"
WRITE_ERRORS = "extract_write_errors"
REFUSED = "extract_refused"
REDACTED = "extract_redacted"
OTHER_CODE = "extract_other_code"


def put_on_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add the case's result to the report of its call, or of its failed set-up."""
    if not isinstance(item, ExtractItem):
        return
    clean_report(report)
    if call.when == "teardown":
        item.forget()
    if call.when == "teardown" or (call.when == "setup" and not report.failed):
        return
    if item.forecast is not None:
        setattr(report, FORECAST, asdict(item.forecast))
    result = item.result
    if result is None:
        if call.excinfo is None or not report.failed:
            return  # skipped by a mark or by its extractor: the case did not run
        result = _result_of_error(item, call.excinfo)
    session = session_of(item.config)
    line, safe_result = item.safe_form if result is item.result else safe_form(result, item.owned)
    setattr(report, RESULT, line)
    setattr(report, RESULT_OBJECT, None if hasattr(item.config, "workerinput") else safe_result)
    setattr(report, OUTCOME, str(result.outcome))
    setattr(report, STANDS, item.stands)
    _put_junit_properties(item, safe_result)
    if item.gold_change is not None:
        setattr(report, GOLD_CHANGE, list(item.gold_change))
    setattr(report, JUDGE_SPENDING, asdict(item.judge_spending))
    setattr(report, WRITE_ERRORS, session.extraction_service.write_errors.take())
    setattr(report, REFUSED, session.extraction_service.write_errors.take_refused())
    setattr(report, OTHER_CODE, session.extraction_service.take_other_code())
    setattr(report, REDACTED, TALLY.taken())
    selection = session.extraction_service.selections.get(item.nodeid)
    if selection is not None:
        setattr(report, SELECTION, asdict(selection))
    if isinstance(report.longrepr, CaseRepr):
        setattr(report, CASE_REPR, _parts_of(report.longrepr))


def _parts_of(shown: CaseRepr) -> dict[str, Any]:
    """Return what `_restore_longrepr` needs, as builtins."""
    return {
        "verbosity": shown.options.verbosity,
        "style": shown.style,
        "evidence": shown.evidence,
        "message": shown.reprcrash.message,
        "path": shown.reprcrash.path,
        "line": shown.reprcrash.lineno,
    }


def _put_junit_properties(item: ExtractItem, result: CaseResult) -> None:
    """Give an item the properties that pytest writes into JUnit XML at its teardown; those of an earlier run go."""
    if not item.config.getoption("xmlpath", None):
        return
    from pytest_extract.report.exports import PROPERTY, junit_properties

    others = [each for each in item.user_properties if not each[0].startswith(PROPERTY)]
    item.user_properties[:] = [*others, *junit_properties(result)]


def _result_of_error(item: ExtractItem, excinfo: pytest.ExceptionInfo[BaseException]) -> CaseResult:
    from pytest_extract.run_case import keys_in_result

    match excinfo.value:
        case ExtractError() as error:
            why = str(error).partition("\n")[0]
        case pytest.FixtureLookupError() as error:
            why = error.msg or f"fixture {error.argname!r} not found"
        case error:
            why = f"{excinfo.typename}: {error}"
    return CaseResult(
        nodeid=item.nodeid,
        case_id=item.case.id,
        file=item.nodeid.partition("::")[0],
        variant=item.variant,
        outcome=Outcome.BROKEN,
        why=why,
        **keys_in_result(item.case),
    )


def put_crash_on_report(nodeid: str, report: pytest.TestReport, config: pytest.Config) -> None:
    """Add the result of the case in which an xdist worker died to xdist's report.

    Only the node id is known of it, and an id may end in brackets: it names a variant if the run is known to have it.
    """
    file, _, name = nodeid.partition("::")
    variants = [totals.variant for totals in run_results_of(config).totals.variants.values()]
    variants += session_of(config).variants
    ends = {escape_name(f"[{variant.label}]"): variant for variant in variants if variant.label}
    end = max(filter(name.endswith, ends), key=len, default="")
    worker = getattr(getattr(getattr(report, "node", None), "gateway", None), "id", "?")
    result = CaseResult(
        nodeid=nodeid,
        case_id=name.removesuffix(end),
        file=file,
        variant=ends.get(end, Variant()),
        outcome=Outcome.BROKEN,
        why=f"the xdist worker {worker} crashed while running this case",
    )
    setattr(report, RESULT, dump_result(result))


def take_from_report(report: pytest.TestReport, config: pytest.Config) -> None:
    """Move a case's result from its report to the run's results; a case that will be rerun has none yet.

    pytest keeps every report to the end, so what is moved is removed from the report.
    """
    attributes = vars(report)
    run_results = run_results_of(config)
    forecast = attributes.pop(FORECAST, None)
    if forecast is not None:
        run_results.forecasts.append(Forecast(**forecast))
        return
    line: str = attributes.pop(RESULT)
    result: CaseResult = attributes.pop(RESULT_OBJECT, None) or load_result(line)
    stored = run_results.results.store(line)
    if not attributes.pop(STANDS, False):
        run_results.spending += Spending.of([result])
    if str(report.outcome) != "rerun":
        run_results.add(report.nodeid, line, stored, result)
    gold_change = attributes.get(GOLD_CHANGE)
    if gold_change is not None:
        from pytest_extract.plugin.update_gold import GoldChange

        run_results.gold_changes[report.nodeid] = GoldChange(*gold_change)
    if report.skipped and hasattr(report, "wasxfail"):
        run_results.expected.add(report.nodeid)
    selection = attributes.pop(SELECTION, None)
    if selection is not None:
        from pytest_extract.changed.inputs import Selection

        told = {name: tuple(selection[name]) for name in ("reasons", "unknown")}
        run_results.selections[report.nodeid] = Selection(**{**selection, **told})
    _take_side_effects(attributes, run_results)
    _restore_longrepr(report, attributes.pop(CASE_REPR, None), stored, config)


def _take_side_effects(attributes: dict[str, Any], run_results: RunResults) -> None:
    """Move from a report what else a case brought: failed recordings, hidden secrets, what judges have used."""
    run_results.write_errors.update(map(tuple, attributes.pop(WRITE_ERRORS, ())))
    run_results.refused += attributes.pop(REFUSED, ())
    run_results.other_code.update(attributes.pop(OTHER_CODE, ()))
    if redacted := attributes.pop(REDACTED, ()):
        run_results.redacted.append(frozenset(map(tuple, redacted)))
    run_results.judge_spending += Spending(**attributes.pop(JUDGE_SPENDING, {}))


def take_fresh_result(report: pytest.TestReport, run_results: RunResults) -> CaseResult | None:
    """Return the result of a fresh run from its report, which is no result of the run; None where it has none."""
    attributes = vars(report)
    text: str | None = attributes.pop(RESULT, None)
    result: CaseResult | None = attributes.pop(RESULT_OBJECT, None)
    _take_side_effects(attributes, run_results)
    return load_result(text) if result is None and text is not None else result


def _restore_longrepr(
    report: pytest.TestReport, parts: dict[str, Any] | None, stored: StoredResult, config: pytest.Config
) -> None:
    """Show the case in the style of this process's terminal: xdist sends only the text of a worker's `longrepr`."""
    if parts is not None:
        from pytest_extract.report.diff import DiffOptions

        options = DiffOptions(verbosity=parts["verbosity"], brief=parts["style"] == "short")
        crash = ReprFileLocation(parts["path"], parts["line"], parts["message"])
        report.longrepr = CaseRepr(stored.load, options, parts["evidence"], crash, parts["style"])
    elif (
        getattr(report, OUTCOME, None) == Outcome.BROKEN
        and report.when == "call"
        and isinstance(report.longrepr, ExceptionRepr)
    ):
        report.longrepr = BrokenRepr(report.longrepr, config.getoption("tbstyle", "auto"))
