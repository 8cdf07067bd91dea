"""Scoring a 10-Q, in multiples of `json.loads` of gold and output together. Run: `python tests/benchmarks/bench_score.py`.

Targets: field and leaf results within 3x, with every measure within 10x, by position and by best fit. The document is
ExtractBench's where the shared data is there, else one of the same shape made here.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_extract import compile_schema

SHARED = Path(os.environ.get("PYTEST_EXTRACT_SHARED", Path(__file__).parents[3] / "shared"))
TENQ = SHARED / "data/extract-bench/dataset/finance/10kq"


def made_up() -> tuple[Any, Any]:
    """Return schema and gold of a 10-Q-like document: 52 lists of rows of seven fields."""
    text, number = {"type": "string"}, {"type": ["number", "null"]}
    fields = {"unit": text, "scale": {"type": "integer"}, "value": number, "period": text, "kind": text}
    row = {"type": "object", "properties": {**fields, "segment": text, "level": text}}
    names = [f"item_{index}" for index in range(52)]
    schema = {"type": "object", "properties": {name: {"type": "array", "items": row} for name in names}}
    pick = random.Random(7)

    def entry(index: int) -> dict[str, Any]:
        value = round(pick.uniform(1, 9e6), 2)
        period = f"FY2025 Q{1 + index % 4}"
        known = {"unit": "USD", "scale": 1_000_000, "value": value, "period": period, "kind": "actual"}
        return {**known, "segment": pick.choice(["NA", "Cloud", "Asia"]), "level": "company"}

    return schema, {name: [entry(index) for index in range(pick.randint(2, 6))] for name in names}


def documents() -> tuple[Any, Any]:
    """Return schema and gold."""
    if not TENQ.exists():
        return made_up()
    gold = next(TENQ.glob("pdf+gold/wdc*.gold.json"))
    return json.loads((TENQ / "10kq-schema.json").read_text()), json.loads(gold.read_text())


def lists_of(value: Any) -> list[list[Any]]:
    """Return the lists of rows in a document."""
    if isinstance(value, dict):
        return [found for item in value.values() for found in lists_of(item)]
    return [value] if isinstance(value, list) and len(value) > 2 else []


def edited(gold: Any) -> Any:
    """Return an output with a few mistakes: four values, a lost row, an invented row, two rows that changed places."""
    output = copy.deepcopy(gold)
    one, two, three, four, five = lists_of(output)[:5]
    for row, name in ((one[0], "value"), (one[0], "unit"), (two[1], "value"), (three[0], "scale")):
        row[name] = 1 if name != "unit" else "EUR"
    del four[-1]
    four.append({**four[0], "value": 123_456})
    five[0], five[1] = five[1], five[0]
    return json.loads(json.dumps(output))


def best(call: Callable[[], object], *, times: int) -> float:
    """Return the shortest of some calls, in milliseconds."""
    shortest = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest * 1e3


def positions(schema: Any) -> dict[str, Any]:
    """Return overrides that align every array by position."""
    patterns = compile_schema(schema, semantics="ours").program.patterns
    return {name: {"align": "position"} for name, plan in patterns.items() if type(plan).__name__ == "Array"}


def main() -> None:
    """Print one line for each way of scoring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    times = parser.parse_args().times
    schema, gold = documents()
    output = edited(gold)
    texts = json.dumps(gold), json.dumps(output)
    unit = best(lambda: [json.loads(text) for text in texts], times=times)
    ways = {
        "ours, by position": compile_schema(schema, semantics="ours", judge_mode="fuzzy", overrides=positions(schema)),
        "ours, best fit": compile_schema(schema, semantics="ours", judge_mode="fuzzy"),
        "extract-bench, best fit": compile_schema(schema, semantics="extract-bench", judge_mode="fuzzy"),
    }
    print(f"json.loads of both: {unit:.3f} ms")
    for name, scorer in ways.items():
        leaves = len(scorer.score(gold, output).leaves)
        results = best(lambda scorer=scorer: scorer.score(gold, output).leaves, times=times)
        every = best(lambda scorer=scorer: scorer.score(gold, output, gates={"schema": False}).measures, times=times)
        print(
            f"{name:24} {leaves} leaves: results {results:.3f} ms = {results / unit:.2f}x,"
            f" every measure {every:.3f} ms = {every / unit:.2f}x"
        )


if __name__ == "__main__":
    main()
