"""What parsing, the schema gate and the document measures cost on a filing of about 1,400 leaves.

    python tests/benchmarks/bench_measures.py

Times are the best of several rounds in one process, next to `json.loads` of gold and output together, which is the
yardstick: all measures, field results included, are to stay within ten times that.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import timeit
from collections.abc import Callable
from typing import Any

from pytest_extract.core.gates import GateConfig
from pytest_extract.core.measures.document import DocumentMeasures, check_output, document_measures
from pytest_extract.core.measures.leaf_counts import count_leaves
from pytest_extract.core.measures.leaf_paths import declare
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.validate import Validator

LINE = {
    "type": "object",
    "properties": {
        "label": {"type": "string"},
        "value": {"type": ["number", "null"]},
        "unit": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "period_end": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "scale": {"type": "integer"},
        "audited": {"type": "boolean"},
    },
    "required": ["label", "value"],
}
SECTIONS = ("income_statement", "balance_sheet", "cash_flow_statement", "other_disclosures")
SCHEMA = {
    "type": "object",
    "properties": {
        section: {
            "type": "object",
            "properties": {
                f"item_{number}": {"type": "array", "items": {"$ref": "#/$defs/line"}} for number in range(13)
            },
        }
        for section in SECTIONS
    },
    "$defs": {"line": LINE},
}


def filing(rng: random.Random) -> dict[str, Any]:
    """Return 52 lists of four or five lines of six leaves: the size and shape of a 10-Q."""
    return {
        section: {f"item_{number}": [line(rng) for _ in range(rng.choice((4, 5)))] for number in range(13)}
        for section in SECTIONS
    }


def line(rng: random.Random) -> dict[str, Any]:
    return {
        "label": " ".join(rng.choice(("Net", "income", "of", "the", "group,", "diluted")) for _ in range(4)),
        "value": rng.choice((None, rng.randint(0, 10**9), round(rng.random() * 1e6, 2))),
        "unit": "USD",
        "period_end": f"2024-{rng.randint(1, 12):02d}-28",
        "scale": rng.choice((1, 1000, 1_000_000)),
        "audited": rng.random() < 0.5,
    }


def changed(gold: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a copy in which a tenth of the leaves is changed and a line in twenty is lost."""
    output = copy.deepcopy(gold)
    for section in output.values():
        for lines in section.values():
            lines[:] = [entry for entry in lines if rng.random() > 0.05]
            for entry in lines:
                if rng.random() < 0.6:
                    entry[rng.choice(("label", "unit"))] = rng.choice(("EUR", "GBP"))
    return output


def best(action: Callable[[], object]) -> float:
    """Milliseconds of the fastest of seven rounds."""
    count = max(1, int(0.05 / max(timeit.timeit(action, number=1), 1e-6)))
    return min(timeit.repeat(action, number=count, repeat=7)) / count * 1000


def main() -> None:
    rng = random.Random(10)
    gold = filing(rng)
    output = changed(gold, rng)
    broken = copy.deepcopy(output)
    broken["other_disclosures"]["item_12"][-1]["scale"] = "thousands"
    texts = json.dumps(gold), json.dumps(output)
    validator = Validator(SCHEMA)
    documents = DocumentMeasures(lambda: SCHEMA)
    declared = declare(SCHEMA)
    assert validator.is_valid(output)

    def measured(extracted: object) -> object:
        sides, config = documents.pair(gold, extracted), GateConfig()
        return check_output(sides, None, "text", config), document_measures(sides, config.coverage("text"))

    yardstick = best(lambda: [json.loads(text) for text in texts])
    print(f"{count_leaves(gold, output, declared).expected} leaves; json.loads of both: {yardstick:.3f} ms")
    actions: dict[str, Callable[[], object]] = {
        "parse the output": lambda: parse_output(texts[1]),
        "gates and 12 measures, equal": lambda: measured(gold),
        "gates and 12 measures, changed": lambda: measured(output),
        "gates and 12 measures, breaks the schema": lambda: measured(broken),
        "  of which the walk over both documents": lambda: count_leaves(gold, output, declared),
        "  of which the schema": lambda: validator.is_valid(output),
    }
    for name, action in actions.items():
        report(name, best(action), yardstick)
    sys.modules["jsonschema_rs"] = None  # type: ignore[assignment]
    slow = Validator(SCHEMA)
    slow.is_valid(output)
    report("the schema without jsonschema-rs", best(lambda: slow.is_valid(output)), yardstick)


def report(name: str, took: float, yardstick: float) -> None:
    print(f"{name:<44} {took:8.3f} ms  {took / yardstick:6.2f}x")


if __name__ == "__main__":
    main()
