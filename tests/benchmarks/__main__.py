"""Speed beside other scorers, of bad shapes, and of a pytest run, as one table: `python tests/benchmarks`.

All scorers of a row take turns in this process, in time of the processor: the median of the rounds counts, and a ratio
means something only within one run. Peers (deepdiff, stickler-eval) that are not installed are left
out. The documents are golds of ExtractBench and DeepJSONEval where `PYTEST_EXTRACT_SHARED` names a folder that has them in
`data/`; otherwise they are made here, in the same shapes.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

# the threads that numpy makes, and nothing here uses, spin for a tenth of a second: the processor's time counts them
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_extract import compile_schema, infer_schema
from tests.golden_digests import cells_of, shuffled

DATA = Path(os.environ.get("PYTEST_EXTRACT_SHARED", "../shared")) / "data"
LIMIT = 60
"""Seconds after which a peer is stopped."""
WORDS = ["".join(random.Random(n).choices("aeioubcdlmnrst", k=3 + n % 7)) for n in range(400)]
Document = tuple[Any, Any]  # gold and output
Call = Callable[[], object]


# documents


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


def filing(rng: random.Random) -> Any:
    """Return a 10-Q: 52 lists of flat rows in three statements."""

    def row(place: int) -> dict[str, Any]:
        inside = place >= 4
        return {
            "data_period": f"FY2025 Q{1 + place % 4}",
            "segment_type": "business_segment" if inside else "company",
            "segment_name": words(rng, 2) if inside else "NA",
            "unit": "USD",
            "scale": 1_000_000,
            "value": rng.randint(1, 90_000),
        }

    gold: dict[str, Any] = {"meta": {"company": words(rng, 2), "report_period": "Q2"}}
    sizes = (28, 16, 16, 14, *[4] * 13, *[3] * 3, *[2] * 25, *[1] * 4, *[0] * 3)
    for number, size in enumerate(sizes):
        name = f"{rng.choice(WORDS)}_{number}"
        gold.setdefault(f"statement_{number % 3}", {})[name] = [row(place) for place in range(size)]
    return gold


def record(rng: random.Random, depth: int = 4) -> Any:
    """Return a record of some twelve leaves in objects three deep."""
    if depth == 0:
        return rng.choice([words(rng, 2), round(rng.uniform(0, 999), 1), rng.random() < 0.5])
    if depth < 4 and rng.random() < 0.2:
        return [words(rng, 1) for _ in range(3)]
    return {name: record(rng, depth - 1 if rng.random() < 0.7 else 0) for name in rng.sample(WORDS, 2)}


def table(size: int, changed: float) -> Document:
    """Return rows of six fields; in the output in another order, 5 % lost and invented, a share changed in one field."""
    rng = random.Random(size)

    def row() -> dict[str, Any]:
        return {
            "sku": f"SKU-{rng.randint(0, 99_999):05}",
            "name": words(rng, 3),
            "count": rng.randint(1, 40),
            "price": round(rng.random() * 900, 2),
            "day": f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            "state": rng.choice(["open", "paid", "void", "late", "due"]),
        }

    gold = [row() for _ in range(size)]
    output = copy.deepcopy(rng.sample(gold, size - size // 20))
    for entry in output:
        if rng.random() < changed:
            name = rng.choice([*entry])
            entry[name] = wrong(entry[name])
    return {"rows": gold}, {"rows": rng.sample(output + [row() for _ in range(size // 20)], size)}


def form() -> Any:
    """Return a gold of the shared data, or what is made instead of it."""
    file = DATA / "extract-bench/dataset/finance/10kq/pdf+gold/nke_10q_fy2025q2.gold.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else filing(random.Random(7))


def small_golds() -> list[Any]:
    file = DATA / "deepjsoneval/part.jsonl"
    if not file.exists():
        return [record(random.Random(seed)) for seed in range(255)]
    return [json.loads(json.loads(line)["json"]) for line in file.read_text(encoding="utf-8").splitlines()]


def wrong(value: Any) -> Any:
    return not value if isinstance(value, bool) else value + 1 if isinstance(value, int | float) else f"{value} x"


def mistaken(gold: Any, count: float) -> Any:
    """Return gold with so many wrong values, a share of all where it is below 1."""
    output = copy.deepcopy(gold)
    found = [(container, key) for container, key in cells_of(output) if container[key] is not None]
    size = min(len(found), round(count * len(found) if count < 1 else count))
    for container, key in random.Random(1).sample(found, size):
        container[key] = wrong(container[key])
    return output


# one plain schema, and what each scorer makes of it


def annotated(schema: Any, leaf: dict[str, Any], array: dict[str, Any]) -> Any:
    """Return the schema with these keys at each leaf and each array."""
    if "properties" in schema:
        return {**schema, "properties": {name: annotated(s, leaf, array) for name, s in schema["properties"].items()}}
    if "items" in schema:
        return {**schema, **array, "items": annotated(schema["items"], leaf, array)}
    return {**schema, **leaf}


Scoring = Callable[[Any, Any], object]


def ours(schema: Any) -> Scoring:
    align = {"evaluation_config": {"align": "best_fit"}}
    scorer = compile_schema(annotated(schema, {}, align), semantics="default")
    return lambda gold, output: scorer.score(gold, output).leaves


def deepdiff(_: Any) -> Scoring:
    from deepdiff import DeepDiff

    return lambda gold, output: DeepDiff(gold, output, ignore_order=True)


def stickler(schema: Any) -> Scoring:
    from stickler import StructuredModel

    exact = {"x-aws-stickler-comparator": "ExactComparator"}

    def fields(schema: Any) -> Any:
        if "properties" in schema:
            return {**schema, "properties": {name: fields(field) for name, field in schema["properties"].items()}}
        if schema.get("items", {}).keys() & {"properties", "items"}:
            return {**schema, "items": fields(schema["items"])}
        return {**schema, **exact}  # a list of scalars has the comparator itself

    model = StructuredModel.from_json_schema(fields(schema))
    return lambda gold, output: model.from_json(gold).compare_with(model.from_json(output))


MAKERS: dict[str, Callable[[Any], Scoring]] = {"ours": ours, "deepdiff": deepdiff, "stickler": stickler}


# timing


def stop(*_: object) -> None:
    raise TimeoutError


def seconds(call: Call, limit: float = 0) -> float:
    gc.collect()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    start = time.process_time()
    try:
        call()
        return time.process_time() - start
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()


def turns(calls: dict[str, Call], rounds: int) -> dict[str, float | str]:
    """Return the median of each call, or why there is none; what takes five seconds or more is called once."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    found: dict[str, float | str] = {}
    for number in range(rounds + 1):
        for name, times in taken.items():
            if name in found:
                continue
            try:
                times.append(seconds(calls[name], 0 if times else LIMIT))
            except TimeoutError:
                found[name] = f"over {LIMIT} s"
            except Exception as error:  # noqa: BLE001 - a peer that cannot read a document says so in many ways
                found[name] = type(error).__name__
            else:
                if number == rounds or times[-1] > 5:  # the first call imports and compiles, and does not count
                    found[name] = median(times[1:] or times)
    return found


def calls_of(documents: list[Document]) -> dict[str, Call]:
    """Return what is timed: reading the JSON, then each scorer; of several documents, compiling the schemas too."""
    read = [(json.dumps(gold), json.dumps(output)) for gold, output in documents]
    pairs = [(json.loads(gold), json.loads(output)) for gold, output in read]
    schemas = [infer_schema([gold]) for gold, _ in pairs]
    calls: dict[str, Call] = {"json.loads": lambda: [json.loads(text) for texts in read for text in texts]}

    def fresh(make: Any) -> None:
        for schema, pair in zip(schemas, pairs, strict=True):
            make({**schema, "$comment": f"{random.random()}"})(*pair)

    for name, make in MAKERS.items():
        try:
            scoring = make(schemas[0])
        except ImportError:  # its cells stay empty
            continue
        calls[name] = (
            (lambda make=make: fresh(make)) if len(pairs) > 1 else (lambda scoring=scoring: scoring(*pairs[0]))
        )
    return calls


def beside_others(rounds: int) -> None:
    """Print the table of peers, in multiples of our time."""
    logging.disable(logging.CRITICAL)
    gold, small = form(), [(gold, mistaken(gold, 1)) for gold in small_golds()]
    rows: dict[str, list[Document]] = {
        "10-Q by best fit, shuffled, 10 % wrong": [(gold, shuffled(mistaken(gold, 0.1), random.Random(1)))],
        f"{len(small)} small cases, each with its own schema: compile and score": small,
        "1,000 shuffled rows of six fields, 10 % changed": [table(1_000, 0.1)],
    }
    print("\n| | ours | in `json.loads` | deepdiff | stickler |\n|---|---:|---:|---:|---:|")
    for label, documents in rows.items():
        found = turns(calls_of(documents), rounds)
        own, unit = float(found["ours"]), float(found["json.loads"])
        taken = [found.get(name, "–") for name in ("deepdiff", "stickler")]
        shown = [f"{peer / own:.1f}x" if isinstance(peer, float) else peer for peer in taken]
        print(f"| {' | '.join([label, f'{own * 1000:.1f} ms', f'{own / unit:.1f}x', *shown])} |", flush=True)


def bad_shapes(rounds: int) -> None:
    """Print what the documents cost that suit best fit least."""
    rng = random.Random(7)
    texts = {"texts": [words(rng, rng.randint(20, 44)) for _ in range(4_700)]}
    shapes: dict[str, tuple[Document, dict[str, Any]]] = {
        "4,700 long texts, fuzzy, all wrong": ((texts, mistaken(texts, 4_700)), {"evaluation_config": "string_fuzzy"}),
        "8,400 shuffled rows of six fields, every one changed": (table(8_400, 1.0), {}),
    }
    print("\n| by best fit | gold | ours |\n|---|---:|---:|")
    for label, ((gold, output), leaf) in shapes.items():
        scorer = compile_schema(annotated(infer_schema([gold]), leaf, {}), semantics="default")
        taken = turns({"ours": lambda: scorer.score(gold, output).leaves}, rounds)["ours"]  # noqa: B023 - called at once
        cost = f"{taken:.3f} s" if isinstance(taken, float) else taken
        print(f"| {label} | {len(json.dumps(gold)) / 1e6:.2f} MB | {cost} |", flush=True)


# a run of pytest

PLAIN = "import pytest\n@pytest.mark.parametrize('number', range({}))\ndef test_plain(number):\n    assert number == number\n"
EXTRACTOR = (
    "import pytest\n@pytest.fixture(scope='session')\ndef extractor():\n    return lambda document: document.text\n"
)


def write_cases(folder: Path, cases: int) -> None:
    """Write files of one passing case of 12 leaves each, whose extractor returns the document's text."""
    schema = {}
    for number in range(cases):
        items = [{"name": name, "price": number} for name in "abc"]
        gold = {"id": f"I{number}", "vendor": {"name": f"V {number}", "city": "Berlin"}, "total": number + 0.5,
                "paid": True, "date": "2024-01-02", "items": items}  # fmt: skip
        schema = infer_schema([gold])
        case = f"schema: schema.json\ntext: '{json.dumps(gold)}'\ngold: {json.dumps(gold)}\n"
        (folder / f"c{number:05}.extract.yaml").write_text(case, encoding="utf-8")
    (folder / "conftest.py").write_text(EXTRACTOR, encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")


def run(folder: Path, *args: str) -> float:
    """Return the milliseconds of the processor that a pytest in a process of its own takes."""
    others = ("randomly", "asyncio", "hypothesispytest", "anyio", "xdist", "timeout", "rerunfailures", "cacheprovider")
    without = [part for name in others for part in ("-p", f"no:{name}")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "-q", *without, *args, "."]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent / "compiled")  # compiled modules are kept, as on any machine
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{folder}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def pytest_runs(rounds: int, cases: int = 300) -> None:
    """Print what the plugin adds to a run without cases, and what a passing case costs beyond a plain test."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        for kind, count in (("plain", 1), ("tests", cases), ("one", 1), ("many", cases)):
            folder = root / kind
            folder.mkdir()
            (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            if kind in ("plain", "tests"):
                (folder / "test_plain.py").write_text(PLAIN.format(count), encoding="utf-8")
            else:
                write_cases(folder, count)
        without = ("-p", "no:pytest_extract")
        runs: dict[str, Callable[[], float]] = {
            "plain": lambda: run(root / "plain", *without),
            "idle": lambda: run(root / "plain"),
            "tests": lambda: run(root / "tests", *without),
            "one": lambda: run(root / "one"),
            "many": lambda: run(root / "many"),
        }
        for call in runs.values():  # compiles the modules
            call()
        taken = [{kind: call() for kind, call in runs.items()} for _ in range(rounds)]
        each = {kind: median(times[kind] for times in taken) for kind in runs}
    test, case = (each["tests"] - each["plain"]) / (cases - 1), (each["many"] - each["one"]) / (cases - 1)
    print("\n| a run of pytest | beyond a plain one |\n|---|---:|")
    print(f"| without cases (a plain one: {each['plain']:.0f} ms) | {each['idle'] - each['plain']:+.0f} ms |")
    print(f"| its first passing case | {each['one'] - each['plain']:+.0f} ms |")
    print(f"| a further passing case of 12 leaves in a file of its own | {case - test:+.1f} ms |", flush=True)


def main() -> None:
    """Print the tables."""
    tables = {"peers": beside_others, "shapes": bad_shapes, "pytest": pytest_runs}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each timing")
    parser.add_argument("--only", nargs="+", choices=tables, default=[*tables], help="some of the tables")
    options = parser.parse_args()
    signal.signal(signal.SIGVTALRM, stop)
    for name in options.only:
        tables[name](options.rounds)


if __name__ == "__main__":
    main()
