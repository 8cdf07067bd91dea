"""What scoring costs: one row for each kind of document, with its target, and how it grows with the document.

    python tests/benchmarks/bench_engine.py [--times 15] [--only ROW ...]

Documents are made here (`documents.py`), in the shapes of real ones. Costs are multiples of `json.loads` of gold and output
together, but where another unit is named; each is the median of the ratios of rounds in which both take turns, in time of
the processor. `results`: field and leaf results; `all`: every measure, the schema gate included. MISSED follows
what is above its target.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import documents
from bench_align import TABLES as ROW_TABLES
from bench_align import as_objects, bare, best_time, lists, schema_of
from bench_compile import CASES, new_schema
from bench_score import cells_of, mistaken, multiples, positions, shuffled

from pytest_extract import compile_schema

FUZZY = {"type": "string", "evaluation_config": "string_fuzzy"}
SIZES = (100, 1_000, 10_000, 100_000)
LONGEST = 4_000.0
"""Milliseconds from which on a longer document is left out."""


def survey(seed: int = 7) -> tuple[Any, Any]:
    """Return a survey paper: 35 leaves about it and 1,081 citations of some 225 characters; 1,116 leaves."""
    rng = random.Random(seed)
    text = {"type": "string"}
    author = {"type": "object", "properties": {"name": text, "email": text, "affiliation": text}}
    citations = {**documents.list_of(FUZZY), "evaluation_config": {"align": "best_fit"}}
    head = dict.fromkeys(("title", "venue", "abstract", "date", "kind"), text)
    schema = {"type": "object", "properties": {**head, "authors": documents.list_of(author), "citations": citations}}
    gold = {name: documents.words(rng, 4) for name in head}
    gold["authors"] = [{name: documents.words(rng, 2) for name in author["properties"]} for _ in range(10)]
    return schema, {**gold, "citations": long_texts(rng, 1_081)}


def long_texts(rng: random.Random, count: int) -> list[str]:
    return [documents.words(rng, rng.randint(20, 44)) for _ in range(count)]


def fuzzy_texts(count: int = 1_081) -> tuple[Any, Any]:
    """Return one list of texts of some 225 characters."""
    names = {**documents.list_of(FUZZY), "evaluation_config": {"align": "best_fit"}}
    return {"type": "object", "properties": {"names": names}}, {"names": long_texts(random.Random(7), count)}


def wrong(count: float) -> Callable[[Any], Any]:
    """Return what makes so many leaves wrong; a share of all where the number is below 1."""
    return lambda gold: mistaken(gold, round(count * len(cells_of(gold))) if count < 1 else int(count))


def mixed(count: float) -> Callable[[Any], Any]:
    """Return what makes so many leaves wrong and puts all lists in another order."""
    return lambda gold: shuffled(wrong(count)(gold), random.Random(1))


def ratio(scorer: Any, gold: Any, output: Any, times: int, *, measures: bool) -> float:
    texts = json.dumps(gold), json.dumps(output)
    output = json.loads(texts[1])
    calls: list[Callable[[], object]] = [
        lambda: [json.loads(text) for text in texts],
        lambda: scorer.score(gold, output).measures if measures else scorer.score(gold, output).leaves,
    ]
    return multiples(calls, times=times)[0]


def show(row: str, what: str, found: float, target: float | None, unit: str = "x") -> None:
    goal = "" if target is None else f"<= {target:g}{'' if found <= target else '   MISSED'}"
    print(f"{row:<44}{what:>14}{found:>9.1f}{unit}   {goal}", flush=True)


def document_rows(times: int) -> None:
    filing, paper = documents.filing(), documents.paper()
    surveyed = survey()
    outputs = {"right": wrong(0), "1 wrong": wrong(1), "8 wrong": wrong(8), "100 wrong": wrong(100)}
    shuffles = {"shuffled": mixed(0), "shuffled, 8": mixed(8)}
    rows: list[tuple[str, tuple[Any, Any], bool, dict[str, float | None]]] = [
        ("10-Q by position", filing, True, {"right": 4, "8 wrong": 5, "100 wrong": 8, "shuffled": 10}),
        ("10-Q by best fit", filing, False, {"right": 4, "8 wrong": 5, "100 wrong": 8, "shuffled": 8}),
        (
            "survey, 1,116 leaves, by best fit",
            surveyed,
            False,
            {"right": 4, "1 wrong": 8, "8 wrong": 12, "100 wrong": 40, "shuffled, 8": 15},
        ),
        ("nested paper, 315 leaves, by best fit", paper, False, dict.fromkeys([*outputs, "shuffled, 8"])),
    ]
    for row, (schema, gold), in_place, targets in rows:
        scorer = compile_schema(schema, semantics="ours", overrides=positions(schema) if in_place else None)
        for label, target in targets.items():
            output = ({**outputs, **shuffles})[label](gold)
            show(f"{row}, all", label, ratio(scorer, gold, output, times, measures=True), target)


def nested_rows(times: int) -> None:
    for size, targets in ((8, {"1 wrong": 2, "1 %": 5, "10 %": 30, "all": None}), (16, {"1 wrong": 2})):
        schema, gold = documents.nested_lists(size)
        scorer = compile_schema(schema, semantics="ours")
        right = wrong(0)(gold)
        row = f"three nested lists, {len(cells_of(gold)):,} leaves, results"
        show(row, "right", ratio(scorer, gold, right, times, measures=False), None)
        for label, target in targets.items():
            output = wrong({"1 wrong": 1, "1 %": 0.01, "10 %": 0.1, "all": 1 - 1e-9}[label])(gold)
            calls: list[Callable[[], object]] = [
                lambda: scorer.score(gold, right).leaves,  # noqa: B023 - called at once
                lambda: scorer.score(gold, output).leaves,  # noqa: B023
            ]
            rounds = times if target else max(1, times // 5)
            show(row, label, multiples(calls, times=rounds)[0], target, "x right")


def text_rows(times: int) -> None:
    schema, gold = fuzzy_texts()
    for semantics, row, most in (
        ("ours", "1,081 texts by best fit, fuzzy, results", 20),
        ("extract-bench", "the same by difflib's ratio (extract-bench)", None),
    ):
        scorer = compile_schema(schema, semantics=semantics)
        for label, make, target in (("10 % wrong", wrong(0.1), most), ("shuffled, 10 %", mixed(0.1), None)):
            found = ratio(scorer, gold, make(gold), max(2, times // 3), measures=False)
            show(row, label, found, target)


def table_rows(times: int) -> None:
    for label, names in ROW_TABLES.items():
        for size, changed, target in (
            (100, 0.1, None),
            (1000, 0.1, 2.5),
            (3000, 0.1, 2.5),
            (1000, 1.0, 1.5),
            (3000, 1.0, 1.5),
        ):
            gold, extracted = lists(size, changed)
            scorer = compile_schema(schema_of(names), semantics="ours")
            sides = as_objects(gold), as_objects(extracted)
            calls: list[Callable[[], object]] = [
                lambda: bare(gold, extracted, names),  # noqa: B023 - called at once
                lambda: scorer.score(*sides).leaves,  # noqa: B023
            ]
            found = multiples(calls, times=3 if size == 3000 else times)[0]
            show(f"{size:,} rows, {label}, {changed:.0%} changed", "results", found, target, "x bare")


def small_rows(times: int) -> None:
    cases = [(schema, gold, mistaken(gold, 1)) for schema, gold in map(documents.described, range(CASES))]
    texts = [(json.dumps(gold), json.dumps(output)) for _, gold, output in cases]
    scorers = [compile_schema(schema) for schema, _, _ in cases]
    prepared = list(zip(scorers, cases, strict=True))
    results, measures, compiled = multiples(
        [
            lambda: [json.loads(text) for pair in texts for text in pair],
            lambda: [scorer.score(gold, output).leaves and None for scorer, (_, gold, output) in prepared],
            lambda: [scorer.score(gold, output).measures and None for scorer, (_, gold, output) in prepared],
            lambda: [
                compile_schema(new_schema(schema)).score(gold, output).leaves and None for schema, gold, output in cases
            ],
        ],
        times=times,
    )
    row = f"{CASES} small cases, each with its own schema"
    show(row, "compile, score", compiled, 12)
    show(row, "results", results, 5)
    show(row, "all", measures, 10)


def memory_rows(times: int) -> None:
    del times
    cases = [
        (compile_schema(schema), gold, mistaken(gold, 1)) for schema, gold in map(documents.described, range(CASES))
    ]

    def kept(make: Callable[[Any, Any, Any], object]) -> float:
        for case in cases:  # what each schema keeps is not counted
            make(*case)
        tracemalloc.start()
        found = [make(*case) for case in cases]
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size / 1024 / len(found)

    def bare_tuples(scorer: Any, gold: Any, output: Any) -> object:
        return [(*result.path, result.score, str(result.status)) for result in scorer.score(gold, output).leaves]

    def all_measures(scorer: Any, gold: Any, output: Any) -> object:
        score = scorer.score(gold, output)
        return score.measures and score

    show("memory of a kept score", "tuples", kept(bare_tuples), None, " KiB")
    show("memory of a kept score", "results", kept(lambda scorer, *values: scorer.score(*values)), 3, " KiB")
    show("memory of a kept score", "all", kept(all_measures), 4, " KiB")


def growing() -> Iterator[tuple[str, Callable[[int], tuple[Any, Any]], Callable[[Any], Any]]]:
    """Yield what grows: its name, the document of a size, and what makes the output."""
    text, number = {"type": "string"}, {"type": "integer"}

    def table(size: int) -> tuple[Any, Any]:
        names = ("sku", "name", "count", "price", "day", "state")
        kinds = dict(zip(names, (text, text, number, {"type": "number"}, text, text), strict=True))
        gold = [dict(zip(names, row, strict=True)) for row in lists(size, 0.0)[0]]
        return documents.list_of({"type": "object", "properties": kinds}), gold

    def orders(size: int) -> tuple[Any, Any]:
        rng = random.Random(size)
        line = {"type": "object", "properties": {"item": text, "count": number}}
        row = {"type": "object", "properties": {"id": text, "lines": documents.list_of(line)}}
        lines = [[{"item": documents.words(rng, 2), "count": n} for n in range(3)] for _ in range(size // 7 + 1)]
        return documents.list_of(row), [{"id": f"o{n}", "lines": own} for n, own in enumerate(lines)]

    def flat(size: int) -> tuple[Any, Any]:
        names = [f"field_{n}" for n in range(size)]
        return {"type": "object", "properties": dict.fromkeys(names, text)}, dict.fromkeys(names, "value")

    for name, make in (("rows of six fields", table), ("orders with lines, leaves", orders)):
        for label, change in (("right", wrong(0)), ("1 % wrong", wrong(0.01)), ("shuffled, 1 %", mixed(0.01))):
            yield f"{name}: {label}", make, change
    yield "texts of 225 characters: 1 % wrong", fuzzy_texts, wrong(0.01)
    yield "properties: 10 % wrong", flat, wrong(0.1)


def growth(times: int) -> None:
    print(f"\ngrowth: milliseconds for {', '.join(f'{size:,}' for size in SIZES)}, and the exponents between them")
    for name, make, change in growing():
        taken: list[float] = []
        for size in SIZES:
            if taken and taken[-1] * 10 > LONGEST:
                break
            schema, gold = make(size)
            scorer, output = compile_schema(schema, semantics="ours"), change(gold)
            rounds = max(1, min(times, int(20_000 / size)))
            taken.append(best_time(lambda: scorer.score(gold, output).leaves, rounds))  # noqa: B023 - called at once
        steps = [math.log10(later / earlier) for earlier, later in itertools.pairwise(taken)]
        print(
            f"{name:<44}{' '.join(f'{time:>9.1f}' for time in taken):<42}{' '.join(f'{step:.2f}' for step in steps)}",
            flush=True,
        )


ROWS: dict[str, Callable[[int], None]] = {
    "documents": document_rows, "nested": nested_rows, "texts": text_rows, "tables": table_rows, "small": small_rows,
    "memory": memory_rows, "growth": growth,
}  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15, help="rounds of each timing")
    parser.add_argument("--only", nargs="*", choices=ROWS, default=list(ROWS), help="some of the rows")
    options = parser.parse_args()
    for name in options.only:
        ROWS[name](options.times)


if __name__ == "__main__":
    main()
