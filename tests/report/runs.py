"""Results of cases for the tests of reports: scored by us, and as they read back from a results file."""

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Variant
from pytest_extract.core.scorer import compile_schema
from pytest_extract.report.lines import text_of
from pytest_extract.results import dump_result, load_result

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": TEXT,
        "total": {"type": "number"},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "price": {"type": "number"}}},
        },
    },
}
GOLD = {"vendor": "ACME GmbH", "total": 907.2, "items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 1.5}]}
SCORER = compile_schema(SCHEMA)


def scored(name, extracted, *, gold=GOLD, model=None, **keys):
    """Make the result of a case that passes when every field does."""
    score = keys.pop("scorer", SCORER).score(gold, extracted).record()
    rate = score.measures["pass_rate"]
    outcome = Outcome.PASSED if rate == 1 else Outcome.FAILED
    breaches = () if rate == 1 else (Breach(what="pass_rate", message=f"pass_rate {rate:.3g} is below 1"),)
    attempt = Attempt(index=0, outcome=outcome, score=score, cost_usd=keys.pop("cost_usd", None))
    return case(name, outcome, attempt, model=model, **{"breaches": breaches, **keys})


def case(name, outcome, *attempts, model=None, **keys):
    """Make a result and have it go through a line of a results file."""
    file = "cases/all.extract.yaml"
    nodeid = f"{file}::{name}[{model}]" if model else f"{file}::{name}"
    base = {"nodeid": nodeid, "case_id": name, "file": file, "variant": Variant(model=model), "outcome": outcome}
    return load_result(dump_result(CaseResult(attempts=attempts, **{**base, **keys})))


def broken(name, error, model=None):
    """Make the result of a case whose extractor raised."""
    attempt = Attempt(index=0, outcome=Outcome.ERROR, error=error)
    return case(name, Outcome.ERROR, attempt, model=model, why=error)


def wrong(**changes):
    """Return gold with other values."""
    return {**GOLD, **changes}


def texts(lines):
    """Return lines without their styles."""
    return [text_of(each) for each in lines]
