"""Digests of every score and every pairing, to hold them while the code is moved.

    python -m tests.golden_digests                 # renews tests/golden_digests.json and names what changed
    python -m tests.golden_digests --dry-run       # only names it
    python -m tests.golden_digests --rows GROUP    # prints all results of a group: `diff` them with those of other code

Pairings are compared up to ties: where other rows are paired and the sums of their scores are the same, that is a tie and no
move. The file holds digests and counts, never data. Groups that need `../shared` keep their digests where it is missing.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_extract import MISSING, compile_schema
from pytest_extract.errors import SchemaError
from tests.core.schemas import TEXT, array, obj, table
from tests.shared_data import ROOT as SHARED
from tests.vector_judges import extract_bench_judge, xeval_judge

FILE = Path(__file__).with_suffix(".json")
TABLES = 200
TIE = "tie: other pairs of the same sum"


class Scored(NamedTuple):
    """What one comparison, or a few that belong together, came to: rows of plain JSON, and measures.

    `sums`: what pairings of equal sum have in common: the field results, and the numbers of the outermost arrays.
    """

    rows: list[list[Any]]
    measures: list[dict[str, float]]
    sums: list[list[Any]]


Comparison = tuple[str, Callable[[], Scored]]


# --- what is digested


def rows_of(score: Any) -> list[list[Any]]:
    """Every result as (kind, path, status, score, matched row), and how the rows of every array were paired."""
    rows = [
        [kind, str(result.path), str(result.status), round(result.score, 9), result.matched and str(result.matched)]
        for kind, results in (("field", score.fields), ("leaf", score.leaves))
        for result in results
    ]
    arrays = [
        ["array", str(each.path), [list(pair) for pair in each.pairs], list(each.missing), list(each.extra)]
        for each in score.arrays
    ]
    return rows + arrays


def scored(scores: Iterable[Any]) -> Scored:
    found = Scored([], [], [])
    for number, score in enumerate(scores):
        found.rows.extend([[number, *row] for row in rows_of(score)])
        found.measures.append({name: round(value, 9) for name, value in score.measures.items()})
        fields = [[str(each.path), str(each.status), round(each.score, 9)] for each in score.fields]
        outer = [each for each in score.arrays if not any(isinstance(step, int) for step in each.path)]
        arrays = [[str(each.path), *(round(n, 9) for n in (each.precision, each.recall, each.f1))] for each in outer]
        found.sums.extend([[number, *row] for row in (*fields, *arrays)])
    return found


def run(compare: Callable[[], Scored]) -> Scored:
    """A mistake in a schema is a result too."""
    try:
        return compare()
    except SchemaError as error:
        return Scored([["error", str(error)]], [], [])


def digest_of(found: Scored) -> str:
    """`ROWS ROWS-DIGEST MEASURES-DIGEST PAIRS-DIGEST SUMS-DIGEST`; the order of rows counts."""
    pairs = [row for row in found.rows if row[1:2] == ["array"]]
    digests = (
        hashlib.sha256(json.dumps(part, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        for part in (found.rows, found.measures, pairs, found.sums)
    )
    return " ".join((str(len(found.rows)), *digests))


# --- outputs: a gold, changed by a seed


def cells_of(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a scalar in a document."""
    found: list[tuple[Any, Any]] = []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found += cells_of(item) if isinstance(item, dict | list) else [(value, key)]
    return found


def wrong_value(value: Any, rng: random.Random) -> Any:
    """Return another value: near, of another type, null, or MISSING."""
    kind = rng.randrange(10)
    if kind == 0:
        return MISSING
    if kind == 1:
        return None if value is not None else "invented"
    if kind == 2:
        return [value] if rng.random() < 0.5 else {"value": value}
    if value is None or isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, -value, value * 1.0005, str(value)])
    return rng.choice([f"{value} x", value.upper(), value[1:], f" {value}", ""])


def with_wrong_values(count: int, gold: Any, rng: random.Random) -> Any:
    """Return a gold with so many wrong values, wherever they fall."""
    output = copy.deepcopy(gold)
    cells = cells_of(output)
    dropped: list[tuple[Any, Any]] = []
    for container, key in rng.sample(cells, min(count, len(cells))):
        value = wrong_value(container[key], rng)
        if value is not MISSING:
            container[key] = value
        elif isinstance(container, dict):
            del container[key]
        else:
            dropped.append((container, key))
    for container, key in sorted(dropped, key=lambda cell: -cell[1]):
        del container[key]
    return output


def shuffled(gold: Any, rng: random.Random) -> Any:
    """Return a gold with the rows of all its lists in another order."""
    if isinstance(gold, dict):
        return {key: shuffled(item, rng) for key, item in gold.items()}
    return rng.sample([shuffled(item, rng) for item in gold], len(gold)) if isinstance(gold, list) else gold


OUTPUTS: dict[str, Callable[[Any, random.Random], Any]] = {
    "right": lambda gold, _rng: gold,
    "8 wrong": partial(with_wrong_values, 8),
    "100 wrong": partial(with_wrong_values, 100),
    "shuffled": shuffled,
}


# --- 200 random tables


def random_table(seed: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return schema, gold, output, and how to score them: flat or nested, by position or best fit, with ties."""
    rng = random.Random(seed)
    columns = {f"c{number}": rng.choice(COLUMNS) for number in range(rng.randint(1, 6))}
    nested = seed % 4 >= 2
    properties: dict[str, Any] = {name: schema for name, (schema, _) in columns.items()}
    inner = {name: rng.choice(COLUMNS) for name in ("k", "l")}
    if nested:
        item = obj(**{name: schema for name, (schema, _) in inner.items()})
        properties |= {"items": array(item), "one": item, "texts": array(TEXT)}

    def cells(of: dict[str, Any]) -> dict[str, Any]:
        there = ((name, stock) for name, (_, stock) in of.items() if rng.random() < 0.9)
        return {name: None if rng.random() < 0.1 else rng.choice(stock) for name, stock in there}

    def row() -> dict[str, Any]:
        found = cells(columns)
        if nested and rng.random() < 0.9:
            found["items"] = [cells(inner) for _ in range(rng.randint(0, 4))]
            found["one"] = cells(inner)
            found["texts"] = [rng.choice("abc") for _ in range(rng.randint(0, 3))]
        return found

    gold = [row() for _ in range(rng.randint(0, 12))]
    output = copy.deepcopy(gold)
    if rng.random() < 0.7:
        output = shuffled(output, rng)
    output = output[rng.randint(0, 2) :] + [row() for _ in range(rng.randint(0, 2))]
    output = with_wrong_values(rng.choice([0, 1, 3, 10]), output, rng)
    align = {"align": "best_fit" if seed % 2 else "position"}
    overrides: dict[str, Any] = {"rows": align}
    if nested:
        overrides |= {"rows[].items": align, "rows[].texts": align}
    for name, (own, _) in columns.items():
        weight = rng.choice([0, 0.5, 2, 3]) if rng.random() < 0.3 else None
        if weight is not None and own.get("type") != "array":
            overrides[f"rows[].{name}"] = {"weight": weight}
    how = {"overrides": overrides, "semantics": rng.choice(["default", "default", "extract-bench"])}
    return obj(rows=table(**properties)), {"rows": gold}, {"rows": output}, how


COLUMNS: tuple[tuple[dict[str, Any], list[Any]], ...] = (
    ({"type": "string"}, ["red", "blue", "Red ", "green"]),
    ({"type": "string", "evaluation_config": "string_fuzzy"}, ["north wind", "north wnd", "south wind", "calm"]),
    ({"type": "string", "evaluation_config": "string_case_insensitive"}, ["AB", "ab", "b c"]),
    ({"type": "integer"}, [0, 1, 2, 10]),
    ({"type": "number"}, [0.5, 1, 1.0, 2.25]),
    ({"type": "number", "evaluation_config": "number_tolerance"}, [100, 100.05, 101, 250.0]),
    ({"type": "boolean"}, [True, False]),
    ({"enum": ["x", 1, None]}, ["x", 1, None]),
    ({"type": "array", "items": {"type": "string"}}, [[], ["p"], ["p", "q"], ["q", "p"]]),
)


def compare_table(seed: int) -> Scored:
    schema, gold, output, how = random_table(seed)
    return scored([compile_schema(schema, judge_mode="fuzzy", **how).score(gold, output, gates={"schema": False})])


# --- the groups


def tables() -> Iterator[Comparison]:
    for seed in range(TABLES):
        yield f"{seed:03}", partial(compare_table, seed)


def published_golds() -> Iterator[tuple[str, Any, Any]]:
    """Yield ExtractBench's golds: name, schema, gold."""
    for path in sorted((SHARED / "data/extract-bench/dataset").glob("*/*/pdf+gold/*.gold.json")):
        schema = read(next(path.parents[1].glob("*-schema.json")))
        yield path.name.removesuffix(".gold.json"), schema.get("schema_definition", schema), read(path)


def golds() -> Iterator[Comparison]:
    for name, schema, gold in published_golds():
        for semantics in ("default", "extract-bench"):
            for label, change in OUTPUTS.items():
                yield f"{name[:24]}, {label}, {semantics}", partial(compare_gold, schema, gold, [change], semantics)


def deepjson_golds() -> Iterator[Comparison]:
    for number, row in enumerate(lines("data/deepjsoneval/part.jsonl")):
        schema, gold = json.loads(row["schema"]), json.loads(row["json"])
        yield f"{number:03}", partial(compare_gold, schema, gold, [*OUTPUTS.values()], "default")


def compare_gold(schema: Any, gold: Any, changes: list[Any], semantics: str) -> Scored:
    scorer = compile_schema(schema, semantics=semantics, judge_mode="fuzzy")
    return scored(
        scorer.score(gold, json.loads(json.dumps(change(gold, random.Random(7)))), gates={"schema": False})
        for change in changes
    )


def extract_bench(vector: Any) -> Scored:
    scorer = compile_schema(vector["schema"], semantics="extract-bench")
    return scored([scorer.score(vector["gold"], vector["extracted"], judge=extract_bench_judge(vector["judge"]))])


def xeval(vector: Any) -> Scored:
    post = vector.get("post_process")
    scorer = compile_schema(vector["schema"], semantics="struct-extract-eval", post_process=post)
    judge = xeval_judge if vector.get("judge") else None
    pairs = zip(vector["gold"], vector["extracted"], strict=False)
    return scored(scorer.score(gold, extracted, judge=judge) for gold, extracted in pairs)


def sob(vector: Any) -> Scored:
    output = vector["record"]["output"]
    gold, extracted = output.get("ground_truth"), output.get("candidate_response", MISSING)
    scorer = compile_schema(vector["record"]["input"].get("json_schema"), judge_mode="fuzzy")
    return scored([scorer.score(gold, extracted, modality=vector["modality"])])


def deepjson(vector: Any) -> Scored:
    scorer = compile_schema(vector["schema"], judge_mode="fuzzy")
    return scored([scorer.score_text(json.loads(vector["answer"]), vector["model_output"])])


def vectors(file: str, compare: Callable[[Any], Scored]) -> tuple[str, Callable[[], Iterator[Comparison]]]:
    return file, lambda: ((vector["id"], partial(compare, vector)) for vector in lines(file))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def lines(relative: str) -> Iterator[Any]:
    with (SHARED / relative).open(encoding="utf-8") as text:
        yield from map(json.loads, text)


GROUPS: dict[str, tuple[str | None, Callable[[], Iterator[Comparison]]]] = {
    "random tables": (None, tables),
    "golds of ExtractBench": ("data/extract-bench/dataset", golds),
    "golds of DeepJSONEval": ("data/deepjsoneval/part.jsonl", deepjson_golds),
    "vectors of extract-bench": vectors("vectors/extractbench.jsonl", extract_bench),
    "vectors of struct-extract-eval": vectors("vectors/xeval.jsonl", xeval),
    "vectors of SOB": vectors("vectors/sob.jsonl", sob),
    "vectors of DeepJSONEval": vectors("vectors/deepjson.jsonl", deepjson),
}
"""Name -> the shared data that it needs, and its comparisons."""


def digests_of(group: str) -> dict[str, str]:
    return {name: digest_of(run(compare)) for name, compare in GROUPS[group][1]()}


# --- renewing


def changes(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Return name -> what is different about a comparison of one group: `TIE` for pairings of equal sums."""
    told = {}
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if was is None or now is None:
            told[name] = "new" if was is None else "gone"
        elif was != now:
            parts = zip(("number of rows", "rows", "measures", "pairs", "sums"), was.split(), now.split(), strict=True)
            differ = [what for what, one, other in parts if one != other]
            is_tie = "pairs" in differ and "sums" not in differ
            told[name] = TIE if is_tie else " and ".join(what for what in differ if what not in ("pairs", "sums"))
    return told


def stored() -> dict[str, dict[str, str]]:
    return read(FILE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--rows", choices=GROUPS, help="print the results of this group instead")
    options = parser.parse_args()
    if options.rows:
        for name, compare in GROUPS[options.rows][1]():
            found = run(compare)
            for row in (*found.rows, *found.measures):
                print(name, json.dumps(row))
        return
    digests = stored()
    for group, (needs, _) in GROUPS.items():
        if needs is not None and not (SHARED / needs).exists():
            print(f"{group}: not looked at, {SHARED / needs} is missing")
            continue
        found = digests_of(group)
        if told := changes(digests.get(group, {}), found):
            print(f"{group}: {len(told)} comparisons changed")
            print("".join(f"  {name}: {what}\n" for name, what in [*told.items()][:50]), end="")
        else:
            print(f"{group}: {len(found)} comparisons, as before")
        digests[group] = found
    if not options.dry_run:
        FILE.write_text(json.dumps(digests, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
