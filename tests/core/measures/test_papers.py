"""Measures of papers and of omni-extract-bench: those of the published programs where they are installed, and by hand."""

from __future__ import annotations

import json
import random

import pytest

from pytest_extract import score
from pytest_extract.cases.load import load_cases
from pytest_extract.core.measures.published import anls_star, n_ted
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.call import Extraction
from pytest_extract.run_case import run_case

GOLD = {"vendor": "ACME Tools", "total": 1234.5, "note": None, "rows": [{"n": "bolt"}, {"n": "nut"}]}


@pytest.mark.parametrize(
    ("extracted", "score"),
    [
        (GOLD, 1.0),
        ({**GOLD, "rows": GOLD["rows"][::-1]}, 1.0),
        ({**GOLD, "vendor": "acme  tools"}, 1.0),
        ({**GOLD, "vendor": "ACME Tool"}, (4 + 0.9) / 5),
        ({**GOLD, "vendor": "Globex"}, 0.8),
        ({**GOLD, "rows": GOLD["rows"][:1]}, 0.8),
        ({**GOLD, "more": "x"}, 5 / 6),
        ({**GOLD, "more": None}, 5 / 6),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_anls_star_by_hand(extracted, score):
    assert anls_star(GOLD, extracted) == pytest.approx(score)


def made(rng, depth):
    kind = rng.random()
    if depth and kind < 0.3:
        return {key: made(rng, depth - 1) for key in rng.sample("abcd", rng.randint(0, 3))}
    if depth and kind < 0.55:
        return [made(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return rng.choice([None, "", "Acme Ltd", "acme limited", 12, 1200.5, True, "x", "12", "Acme  ltd"])


def changed(rng, value):
    if rng.random() < 0.2:
        return made(rng, 1)
    if isinstance(value, dict):
        return {key: changed(rng, item) for key, item in value.items() if rng.random() < 0.9}
    return [changed(rng, item) for item in value] if isinstance(value, list) else value


def test_anls_star_is_that_of_its_package():
    """All but ties: of two pairings with the same mean similarity the package may take one of another size."""
    package = pytest.importorskip("anls_star", reason="pip install anls_star")
    rng = random.Random(7)
    golds = [{"value": made(rng, 3)} for _ in range(2_000)]  # a list at the root means alternatives there
    pairs = [(gold, changed(rng, gold)) for gold in golds]
    differing = [pair for pair in pairs if abs(package.anls_score(*pair) - anls_star(*pair)) > 1e-9]
    assert len(differing) <= 4


def test_a_case_that_bounds_it_has_it(tmp_path):
    bounds = {"thresholds": {"anls_star": 0.9}, "uncompared": "allow"}
    text = json.dumps({"text": "x", "schema": {"type": "object"}, "gold": GOLD, **bounds})
    (tmp_path / "a.extract.yaml").write_text(text, encoding="utf-8")
    (case,) = load_cases(tmp_path / "a.extract.yaml").cases
    for output, similarity, outcome in (({**GOLD, "vendor": "ACME Tool"}, 0.98, "passed"), ("no JSON", 0.0, "failed")):
        result = run_case(case, lambda _, output=output: Extraction(output), nodeid="a", file="a")
        assert (result.attempts[0].score.measures["anls_star"], result.outcome) == (pytest.approx(similarity), outcome)


BILL = {"vendor": "ACME", "rows": [{"n": "bolt"}, {"n": "nut"}]}
"""5 letters and a key, then a key, and for each row a node, a key and its letters: 1 + 4, 1 + 1 + 1 + 4 + 1 + 1 + 3."""


@pytest.mark.parametrize(
    ("extracted", "edits"),
    [
        (BILL, 0),
        ({**BILL, "vendor": "ACNE"}, 1),
        ({**BILL, "vendor": "ACM"}, 1),
        ({"rows": BILL["rows"]}, 5),
        ({**BILL, "note": "x"}, 2),
        ({**BILL, "rows": BILL["rows"][:1]}, 5),
        ({**BILL, "note": None}, 0),
        ({"seller": "ACME", "rows": BILL["rows"]}, 1),
        ({}, 17),
    ],
)
def test_n_ted_by_hand(extracted, edits):
    assert n_ted(BILL, extracted) == pytest.approx(1 - edits / 17)


def test_n_ted_of_a_large_document_is_refused_with_the_reason():
    rows = [{"a": number, "b": number} for number in range(300)]
    with pytest.raises(ConfigError, match=r"n_ted is for small documents: trees of 1,502 and 1,502 nodes"):
        n_ted({"rows": rows}, {"rows": rows})


OF_A_ROW = {"name": {"type": "string"}, "quantity": {"type": "integer"}, "price": {"type": "number"}}
INVOICE = {
    "vendor": {"type": "string"},
    "total": {"type": "number"},
    "note": {"type": ["string", "null"]},
    "rows": {"type": "array", "items": {"type": "object", "properties": OF_A_ROW}},
}
BOLT, NUT, PIN = (
    {"name": name, "quantity": 4, "price": price} for name, price in (("bolt", 1.25), ("nut", 2), ("pin", 3))
)
RIGHT = {"vendor": "Borealis", "total": 310.5, "note": None, "rows": [BOLT, NUT, PIN]}
PROBES = {
    "right": RIGHT,
    "one value": RIGHT | {"total": 301.5},
    "two values": RIGHT | {"total": 1.0, "vendor": "Cobalt"},
    "a missing key": {key: RIGHT[key] for key in ("total", "note", "rows")},
    "a null": RIGHT | {"vendor": None},
    "invented": RIGHT | {"note": "thanks"},
    "a key too many": RIGHT | {"extra": "x"},
    "rows in another order": RIGHT | {"rows": [PIN, NUT, BOLT]},
    "a missing row": RIGHT | {"rows": [BOLT, PIN]},
    "an invented row": RIGHT | {"rows": [BOLT, NUT, PIN, {"name": "ring", "quantity": 7, "price": 2.0}]},
    "a row twice": RIGHT | {"rows": [BOLT, NUT, PIN, BOLT]},
    "one cell": RIGHT | {"rows": [BOLT | {"price": 9.75}, NUT, PIN]},
    "a missing cell": RIGHT | {"rows": [BOLT, NUT, {"quantity": 4, "price": 3}]},
    "no rows": RIGHT | {"rows": []},
    "nothing": {},
}


@pytest.mark.parametrize("output", PROBES.values(), ids=PROBES)
def test_leaf_accuracy_and_f1_are_those_of_omni(output):
    package = pytest.importorskip("omni_extract_bench.scorers.field_matching", reason="pip install omni-extract-bench")
    schema = {"type": "object", "properties": INVOICE}
    theirs, ours = package.score(output, RIGHT, schema), score(schema, RIGHT, output, gates={"schema": False}).measures
    assert (ours["leaf_accuracy"], ours["f1"]) == (pytest.approx(theirs["accuracy"]), pytest.approx(theirs["f1"]))
