"""How long best fit takes on long lists with lists inside the rows.

Run by hand: `python tests/benchmarks/bench_align.py`.
`bench_engine.py` sets rows beside a script that pairs equal ones, and the others by rapidfuzz's `cdist` and scipy.
Rows have six fields; they are shuffled, 5 % are lost, 5 % invented, and 10 % or all of the rest changed in one field.
Times are the best of several rounds in one process, everything imported and warm, in milliseconds of the processor.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from pytest_extract import compile_schema

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


def schema_of(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a list of rows whose fields have these metrics."""
    kinds = ("string", "string", "integer", "number", "string", "string")
    fields = {
        str(at): {"type": kind, "x-eval-compare": name}
        for at, (kind, name) in enumerate(zip(kinds, names, strict=True))
    }
    return {"type": "array", "items": {"type": "object", "properties": fields}}


def as_objects(rows: list[Row]) -> list[dict[str, Any]]:
    return [{str(at): value for at, value in enumerate(row)} for row in rows]


def bare(gold: list[Row], extracted: list[Row], names: tuple[str, ...]) -> Any:
    """Pair equal rows by a dict, then align the others without any thought: every column in full, then scipy."""
    import numpy as np
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    places: dict[tuple[Any, ...], list[int]] = {}
    for place, row in enumerate(extracted):
        places.setdefault(tuple(row), []).append(place)
    rest: list[Row] = []
    taken: set[int] = set()
    for row in gold:
        waiting = places.get(tuple(row))
        if waiting:
            taken.add(waiting.pop(0))
        else:
            rest.append(row)
    others = [row for place, row in enumerate(extracted) if place not in taken]
    total = np.zeros((len(rest), len(others)), np.float32)
    for at, name in enumerate(names):
        ours, theirs = [row[at] for row in rest], [row[at] for row in others]
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
    argparse.ArgumentParser(description=__doc__).parse_args()
    print_memory()
    score_lists()


if __name__ == "__main__":
    main()
