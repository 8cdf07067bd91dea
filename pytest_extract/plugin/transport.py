"""A case's result rides on pytest's report, as text: xdist brings it to the controller like any attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from pytest_extract.core.case_result import Arm, CaseResult, Outcome
from pytest_extract.errors import ExtractError
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.run_results import RESULT
from pytest_extract.plugin.session import session_of
from pytest_extract.plugin.terminal import CaseRepr, clean_report
from pytest_extract.redact.secrets import TALLY
from pytest_extract.results import dump_result, dump_safely

SHOWN = "extract_shown"
OUTCOME = "extract_outcome"
GOLD = "extract_gold"
JUDGED = "extract_judged"
FORECAST = "extract_forecast"
CHOICE = "extract_choice"
UNKEPT = "extract_unkept"
REFUSED = "extract_refused"
HIDDEN = "extract_hidden"


def put_on_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Give the report of a case's call, or of its failed set-up, the case's result."""
    if not isinstance(item, ExtractItem):
        return
    clean_report(report)
    if call.when == "teardown":
        item.forget()
        return
    if call.when == "setup" and not report.failed:
        return
    if item.forecast is not None:
        setattr(report, FORECAST, asdict(item.forecast))
    result = item.result
    if result is None:
        if call.excinfo is None or not report.failed:
            return  # skipped by a mark or by its extractor: nobody ran it
        result = _broken(item, call.excinfo)
    setattr(report, RESULT, item.line if result is item.result else dump_safely(result, item.owned))
    setattr(report, OUTCOME, str(result.outcome))
    if item.gold is not None:
        setattr(report, GOLD, list(item.gold))
    setattr(report, JUDGED, asdict(item.judged))
    setattr(report, UNKEPT, session_of(item.config).calls.unkept.taken())
    setattr(report, REFUSED, session_of(item.config).calls.unkept.refusals())
    setattr(report, HIDDEN, TALLY.taken())
    choice = session_of(item.config).calls.choices.get(item.nodeid)
    if choice is not None:
        setattr(report, CHOICE, asdict(choice))
    if isinstance(report.longrepr, CaseRepr):
        setattr(report, SHOWN, _shown(report.longrepr))


def _broken(item: ExtractItem, excinfo: pytest.ExceptionInfo[BaseException]) -> CaseResult:
    from pytest_extract.run_case import keys_in_result

    return CaseResult(
        nodeid=item.nodeid,
        case_id=item.case.id,
        file=item.nodeid.partition("::")[0],
        arm=item.arm,
        outcome=Outcome.BROKEN,
        why=_why(excinfo),
        **keys_in_result(item.case),
    )


def _why(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """Name the exception and what it says; our own are told in their first line."""
    match excinfo.value:
        case ExtractError() as error:
            return str(error).partition("\n")[0]
        case pytest.FixtureLookupError() as error:
            return error.msg or f"fixture {error.argname!r} not found"
        case error:
            return f"{excinfo.typename}: {error}"


def _shown(shown: CaseRepr) -> Mapping[str, Any]:
    """Return what the controller needs to show the case for its own terminal, in builtins."""
    return {
        "verbosity": shown.look.verbosity,
        "style": shown.style,
        "places": shown.places,
        "message": shown.reprcrash.message,
        "path": shown.reprcrash.path,
        "line": shown.reprcrash.lineno,
    }


def put_crash_on_report(nodeid: str, report: pytest.TestReport) -> None:
    """Give the report that xdist makes of a dead worker the result of the case that it died in."""
    setattr(report, RESULT, dump_result(crashed(nodeid, getattr(report, "node", None))))


def crashed(nodeid: str, worker: object) -> CaseResult:
    """Return the result of the case that an xdist worker died in; all that is left of it is its node id."""
    file, _, name = nodeid.partition("::")
    case_id, _, label = name.partition("[")
    return CaseResult(
        nodeid=nodeid,
        case_id=case_id,
        file=file,
        arm=Arm(model=label.removesuffix("]") or None),
        outcome=Outcome.BROKEN,
        why=f"the xdist worker {_worker_id(worker)} crashed while running this case",
    )


def _worker_id(worker: object) -> str:
    return str(getattr(getattr(worker, "gateway", None), "id", "?"))
