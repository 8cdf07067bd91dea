"""How long best fit takes on long lists, next to rapidfuzz's `cdist` and scipy's assignment on the bare full columns.

Run by hand: `python tests/benchmarks/bench_align.py` (`--quick` leaves out plain Python, half a minute of it).
Rows have six fields; they are shuffled, 5 % are lost, 5 % invented, and 10 % or all of the rest changed in one field.
Times are the best of several rounds in one process, everything imported and warm, in milliseconds of the processor.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import documents
from bench_score import cells_of, mistaken, shuffled

from pytest_extract import compile_schema
from pytest_extract.core.matching.columns import Column
from pytest_extract.core.matching.pairing import best_fit
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.metrics.base import with_defaults

TABLES = {
    "our defaults": ("text", "text", "integer", "number", "text", "text"),
    "three fuzzy": ("text", "fuzzy", "integer", "number", "fuzzy", "fuzzy"),
    "tolerance": ("text", "fuzzy", "integer", "number_tolerance", "text", "text"),
}
WORDS = [
    "".join(random.Random(n).choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.Random(-n).randint(3, 9)))
    for n in range(1, 400)
]
Row = list[Any]


def make_row(rng: random.Random) -> Row:
    return [
        f"SKU-{rng.randint(0, 99_999):05d}",
        " ".join(rng.choice(WORDS) for _ in range(3)),
        rng.randint(1, 40),
        round(rng.random() * 900, 2),
        f"2024-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        rng.choice(["open", "paid", "void", "late", "due"]),
    ]


def change(row: Row, rng: random.Random) -> Row:
    at = rng.randrange(len(row))
    value = row[at]
    if isinstance(value, str):
        cut = rng.randrange(len(value))
        value = f"{value[:cut]}x{value[cut + 1 :]}"
    else:
        value += 1
    return [*row[:at], value, *row[at + 1 :]]


def lists(size: int, changed: float) -> tuple[list[Row], list[Row]]:
    rng = random.Random(size)
    gold = [make_row(rng) for _ in range(size)]
    kept = rng.sample(gold, size - size // 20)
    extracted = [change(row, rng) if rng.random() < changed else list(row) for row in kept]
    extracted += [make_row(rng) for _ in range(size // 20)]
    rng.shuffle(extracted)
    return gold, extracted


def columns_of(gold: list[Row], extracted: list[Row], names: tuple[str, ...]) -> list[Column]:
    metrics = [METRICS[name].make(with_defaults({}, METRICS[name].params), "ours") for name in names]
    return [
        Column(gold=[row[at] for row in gold], extracted=[row[at] for row in extracted], metric=metric)
        for at, metric in enumerate(metrics)
    ]


def bare(gold: list[Row], extracted: list[Row], names: tuple[str, ...]) -> Any:
    """Align without any thought: every column in full, then scipy."""
    import numpy as np
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    total = np.zeros((len(gold), len(extracted)), np.float32)
    for at, name in enumerate(names):
        ours, theirs = [row[at] for row in gold], [row[at] for row in extracted]
        if name == "fuzzy":
            total += cdist(ours, theirs, scorer=Levenshtein.normalized_similarity, dtype=np.float32)
        else:
            total += np.array(ours)[:, None] == np.array(theirs)
    return linear_sum_assignment(total, maximize=True)


def best_time(run: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def compare_with_bare() -> None:
    print(f"{'fields':<14}{'rows':>6}{'changed':>9}{'bare ms':>10}{'ours ms':>10}{'ratio':>8}   target")
    for label, names in TABLES.items():
        for size in (100, 1000, 3000):
            for changed in (0.1, 1.0):
                gold, extracted = lists(size, changed)
                columns = columns_of(gold, extracted, names)
                rounds = 3 if size == 3000 else 7
                plain = best_time(lambda: bare(gold, extracted, names), rounds)  # noqa: B023 - called at once
                ours = best_time(lambda: best_fit(columns, size, size, objective="mean"), rounds)  # noqa: B023
                print(
                    f"{label:<14}{size:>6}{changed:>9.0%}{plain:>10.1f}{ours:>10.1f}{ours / plain:>8.2f}   {target(size, changed, ours / plain)}"
                )


def target(size: int, changed: float, ratio: float) -> str:
    """Say whether a long list is fast enough: below bare where a tenth of the rows changed, within twice of it else."""
    if size < 1000:
        return ""
    limit = 1 if changed < 1 else 2
    return f"< {limit}: {'met' if ratio < limit else 'MISSED'}"


def fuzzy_texts() -> tuple[Any, Any]:
    schema, gold = documents.texts()
    names = {"type": "array", "items": {"type": "string", "evaluation_config": "string_fuzzy"}}
    names["evaluation_config"] = {"align": "best_fit"}
    return {**schema, "properties": {"names": names}}, gold


DOCUMENTS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "10-Q": documents.filing,
    "research paper": documents.paper,
    "three nested lists": documents.nested_lists,
    "three nested lists, 16": lambda: documents.nested_lists(16),
    "1,081 fuzzy texts": fuzzy_texts,
}
WRONG = {"right": 0.0, "1 wrong": 1, "1 %": 0.01, "10 %": 0.1, "all": 1.0}


def score_documents() -> None:
    """Time the results of whole documents by best fit, in multiples of `json.loads` of gold and output together."""
    print("documents by best fit: multiples of json.loads, rows in their places / all lists shuffled")
    for name, make in DOCUMENTS.items():
        schema, gold = make()
        scorer = compile_schema(schema, semantics="ours")
        leaves = len(cells_of(gold))
        for label, share in WRONG.items():
            output = mistaken(gold, share if isinstance(share, int) else round(share * leaves))
            ratios = []
            for changed in (output, shuffled(output, random.Random(1))):
                texts = json.dumps(gold), json.dumps(changed)
                unit = best_time(lambda: [json.loads(text) for text in texts], 20)  # noqa: B023 - called at once
                ratios.append(best_time(lambda: scorer.score(gold, changed).leaves, 3) / unit)  # noqa: B023
            print(f"{name:<24}{leaves:>7}{label:>10}{ratios[0]:>10.1f}x{ratios[1]:>10.1f}x", flush=True)


def without_numpy() -> None:
    print("without numpy and scipy, plain Python (target: 3,000 rows within 30 s)")
    for label, names in TABLES.items():
        for size in (1000, 3000):
            for changed in (0.1, 1.0):
                columns = columns_of(*lists(size, changed), names)
                ours = best_time(lambda: best_fit(columns, size, size, objective="mean"), 1)  # noqa: B023
                print(
                    f"{label:<14}{size:>6}{changed:>9.0%}{ours / 1000:>10.2f} s   {'met' if ours < 30_000 else 'MISSED'}"
                )


def print_memory() -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory of the process: {peak / (2**20 if sys.platform == 'darwin' else 2**10):.0f} MB\n", flush=True)


def order(rng: random.Random, size: int) -> dict[str, Any]:
    """Return a row with a list of up to five in it."""
    items = [
        {"sku": f"{rng.choice(WORDS)}-{rng.randint(1, 400)}", "count": rng.randint(1, 20), "price": rng.randint(1, 500)}
        for _ in range(rng.randint(0, 5))
    ]
    name = " ".join(rng.choice(WORDS) for _ in range(3))
    return {"id": rng.randint(1, size), "name": name, "day": f"2024-{rng.randint(1, 12)}-01", "items": items}


def orders(size: int) -> tuple[list[Any], list[Any]]:
    """Return rows with lists inside, and an output: shuffled, each with a mistake, 5 % lost and as many invented."""
    rng = random.Random(size)
    gold = [order(rng, size) for _ in range(size)]
    output = rng.sample([{**row, "items": [dict(item) for item in row["items"]]} for row in gold], size)
    for row in output:
        place, value = rng.choice([("id", -1), ("name", "nobody"), ("day", "2023-01-01"), ("count", 99), ("sku", "?")])
        inside = place in ("count", "sku") and row["items"]
        (rng.choice(row["items"]) if inside else row)[place if inside or place in row else "day"] = value
    return gold, output[: size - size // 20] + [order(rng, size) for _ in range(size // 20)]


def score_lists() -> None:
    """Time whole scorings, and print how much memory Python objects took at most."""
    text, number = {"type": "string"}, {"type": "integer"}
    item = {"type": "object", "properties": {"sku": text, "count": number, "price": number}}
    inside = {"id": number, "name": text, "day": text, "items": {"type": "array", "items": item}}
    scorer = compile_schema({"type": "array", "items": {"type": "object", "properties": inside}}, semantics="ours")
    print(
        "rows with a list of up to five objects each, every row changed, scored in full (target: 3,000 rows within 10 s)"
    )
    for size in (300, 1000, 3000):
        gold, output = orders(size)
        took = best_time(lambda: scorer.score(gold, output).leaves, 1) / 1000  # noqa: B023 - called at once
        print(f"{'':<14}{size:>6}{took:>29.2f} s   {'met' if size < 3000 or took < 10 else 'MISSED'}", flush=True)
    gold, output = orders(1000)  # tracing takes many times as long
    tracemalloc.start()
    scorer.score(gold, output)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(
        f"{'':<14}{1000:>6}  peak {peak:.0f} MB, of which one matrix of floats is {1000 * 1000 * 8 / 2**20:.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the run without numpy and scipy")
    parser.add_argument("--documents", action="store_true", help="only whole documents")
    parser.add_argument("--no-numpy", action="store_true", help="only that run, in this process")
    options = parser.parse_args()
    if options.no_numpy:
        sys.modules.update({"numpy": None, "scipy": None, "scipy.optimize": None})  # type: ignore[dict-item]
        without_numpy()
        return
    if options.documents:
        score_documents()
        return
    compare_with_bare()
    print_memory()
    score_lists()
    score_documents()
    sys.stdout.flush()
    if not options.quick:
        subprocess.run([sys.executable, __file__, "--no-numpy"], check=True)


if __name__ == "__main__":
    main()
