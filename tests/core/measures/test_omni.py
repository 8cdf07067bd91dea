"""`leaf_accuracy` and `f1` beside omni-extract-bench on fifteen probes, without our schema gate: `pip install omni-extract-bench`."""

from __future__ import annotations

import copy

import pytest

from pytest_extract import score

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "string"},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "quantity": {"type": "integer"},
                    "price": {"type": "number"},
                },
            },
        },
    },
}
GOLD = {
    "vendor": "Borealis",
    "total": 310.5,
    "paid": True,
    "note": None,
    "rows": [
        {"name": "bolt", "quantity": 4, "price": 1.25},
        {"name": "nut", "quantity": 9, "price": 0.15},
        {"name": "washer", "quantity": 2, "price": 3.5},
    ],
}


def changed(change):
    output = copy.deepcopy(GOLD)
    change(output)
    return output


PROBES = {
    "right": lambda output: None,
    "one value": lambda output: output.update(total=301.5),
    "two values": lambda output: output.update(total=1.0, vendor="Cobalt"),
    "a missing key": lambda output: output.pop("vendor"),
    "a null": lambda output: output.update(vendor=None),
    "invented": lambda output: output.update(note="thanks"),
    "a key too many": lambda output: output.update(extra="x"),
    "rows in another order": lambda output: output["rows"].reverse(),
    "a missing row": lambda output: output["rows"].pop(1),
    "an invented row": lambda output: output["rows"].append({"name": "pin", "quantity": 7, "price": 2.0}),
    "a row twice": lambda output: output["rows"].append(dict(output["rows"][0])),
    "one cell": lambda output: output["rows"][0].update(price=9.75),
    "a missing cell": lambda output: output["rows"][2].pop("name"),
    "no rows": lambda output: output.update(rows=[]),
    "nothing": lambda output: output.clear(),
}


@pytest.mark.parametrize("probe", PROBES)
def test_leaf_accuracy_and_f1_are_those_of_omni(probe):
    package = pytest.importorskip("omni_extract_bench.scorers.field_matching", reason="pip install omni-extract-bench")
    output = changed(PROBES[probe])
    theirs, ours = package.score(output, GOLD, SCHEMA), score(SCHEMA, GOLD, output, gates={"schema": False}).measures
    assert (ours["leaf_accuracy"], ours["f1"]) == (pytest.approx(theirs["accuracy"]), pytest.approx(theirs["f1"]))
