"""Scoring a 10-Q, in multiples of `json.loads` of gold and output together. Run: `python tests/benchmarks/bench_score.py`.

Targets: field and leaf results within 3x, with every measure within 10x. The output is gold itself, gold with mistakes,
or gold with all rows shuffled; `--all` shows the documents of ExtractBench too, where the shared data is there. Each ratio is that of the shortest times of
rounds in which both take turns, in time of the processor, so that a busy machine changes little.
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
from statistics import median
from typing import Any

import documents

from pytest_extract import compile_schema
from pytest_extract.core.scorer import Scorer

SHARED = Path(os.environ.get("PYTEST_EXTRACT_SHARED", Path(__file__).parents[3] / "shared"))
DATASET = SHARED / "data/extract-bench/dataset"


def documents_of(*, every: bool) -> dict[str, tuple[Any, Any]]:
    """Return name -> schema and gold: a 10-Q made here; of `every`, the largest of each schema of ExtractBench too."""
    found = {"10-Q, made here": documents.filing()}
    for path in sorted(DATASET.rglob("*-schema.json")) if every else []:
        schema = json.loads(path.read_text())
        gold = max(path.parent.glob("pdf+gold/*.gold.json"), key=lambda gold: gold.stat().st_size)
        found[gold.name.partition(".")[0][:20]] = schema.get("schema_definition", schema), json.loads(gold.read_text())
    return found


def cells_of(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a scalar in a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in entries:
        found += cells_of(item) if isinstance(item, dict | list) else [(value, key)] if item is not None else []
    return found


def mistaken(gold: Any, count: int) -> Any:
    """Return gold with this many wrong values, wherever they fall."""
    output = copy.deepcopy(gold)
    cells = cells_of(output)
    for container, key in random.Random(1).sample(cells, min(count, len(cells))):
        value = container[key]
        wrong = not value if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else f"{value} x"
        container[key] = wrong
    return output


def shuffled(value: Any, order: random.Random) -> Any:
    """Return a document with the rows of all its lists in another order."""
    if isinstance(value, dict):
        return {key: shuffled(item, order) for key, item in value.items()}
    return order.sample([shuffled(item, order) for item in value], len(value)) if isinstance(value, list) else value


OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "right": lambda gold: gold,
    "8 wrong": lambda gold: mistaken(gold, 8),
    "100 wrong": lambda gold: mistaken(gold, 100),
    "shuffled": lambda gold: shuffled(gold, random.Random(1)),
}


def best(calls: list[Callable[[], object]], *, times: int) -> list[float]:
    """Return the shortest time of each call, in milliseconds; they take turns, each in the state that another leaves.

    Scoring must leave no circles of objects: `json.loads` would collect them, and look slower than it is.
    """
    shortest = [float("inf")] * len(calls)
    for _ in range(times):
        for place, call in enumerate(calls):
            start = time.process_time_ns()
            call()
            shortest[place] = min(shortest[place], (time.process_time_ns() - start) / 1e6)
    return shortest


def multiples(calls: list[Callable[[], object]], *, times: int) -> list[float]:
    """Return the time of each call but the first as a multiple of the first's: the median of rounds in which all take turns.

    The shortest time of a call that takes little varies by a third between processes, the median by a tenth.
    """
    rounds = [best(calls, times=1) for _ in range(times)]
    return [median(row[place] / row[0] for row in rounds) for place in range(1, len(calls))]


def positions(schema: Any) -> dict[str, Any]:
    """Return overrides that align every array by position."""
    patterns = compile_schema(schema, semantics="ours").program.patterns
    return {name: {"align": "position"} for name, plan in patterns.items() if type(plan).__name__ == "Array"}


def calls_of(scorers: list[Scorer], gold: Any, output: Any) -> list[Callable[[], object]]:
    """Return what is timed: reading both documents, then results and all measures by each scorer."""
    texts = json.dumps(gold), json.dumps(output)
    calls: list[Callable[[], object]] = [lambda: [json.loads(text) for text in texts]]
    for scorer in scorers:
        calls.append(lambda scorer=scorer: scorer.score(gold, output).leaves)
        calls.append(lambda scorer=scorer: scorer.score(gold, output).measures)
    return calls


def measure(name: str, schema: Any, gold: Any, times: int) -> None:
    """Print a line for each output and way of scoring."""
    ways = {
        "ours, by position": compile_schema(schema, semantics="ours", judge_mode="fuzzy", overrides=positions(schema)),
        "ours": compile_schema(schema, semantics="ours", judge_mode="fuzzy"),
        "extract-bench": compile_schema(schema, semantics="extract-bench", judge_mode="fuzzy"),
    }
    for label, change in OUTPUTS.items():
        output = json.loads(json.dumps(change(gold)))
        unit, *taken = best(calls_of([*ways.values()], gold, output), times=times)
        for place, (way, scorer) in enumerate(ways.items()):
            leaves = len(scorer.score(gold, output).leaves)
            results, every = taken[2 * place] / unit, taken[2 * place + 1] / unit
            print(
                f"{name:21}{label:>10}  {way:18}{leaves:>7}{unit:>10.3f}"
                f"{results:>9.2f}x {_met(results, 3):7}{every:>9.2f}x {_met(every, 10)}",
                flush=True,
            )


def _met(ratio: float, target: float) -> str:
    return f"<= {target:g}" if ratio <= target else f"> {target:g}"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=150)
    parser.add_argument("--all", action="store_true", help="the other documents of ExtractBench too")
    options = parser.parse_args()
    print(
        f"{'document':21}{'output':>10}  {'scored':18}{'leaves':>7}{'json ms':>10}{'results':>10} {'':7}{'all measures':>10}"
    )
    for name, (schema, gold) in documents_of(every=options.all).items():
        measure(name, schema, gold, options.times)


if __name__ == "__main__":
    main()
