"""Bulk scoring: records of twelve leaves, in multiples of `json.loads` of gold and output, and the memory of a table.

    python tests/benchmarks/bench_bulk.py [--records 20000]

One record in four has a wrong value. The first table shows the processor time of a record in one process; target: parse
and all measures within 10x. The second scores a whole table in a process of its own and shows time and peak memory for
a tenth of the records and for all of them: memory does not grow with the table. Before that, the same for parsing and
measuring alone, of as many records and ten times as many, none like another.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from bench_score import best, mistaken, multiples
from documents import described

from pytest_extract import compile_schema
from pytest_extract.bulk import BulkScorer, score_table
from pytest_extract.core.case_result import CaseResult
from pytest_extract.parquet import table_of

SEED = 11  # twelve leaves
SAMPLE = 400


def records(count: int) -> Iterator[dict[str, str]]:
    _, gold = described(SEED)
    right, wrong = json.dumps(gold), json.dumps(mistaken(gold, 1))
    for number in range(count):
        yield {"id": str(number), "gold": right, "output": right if number % 4 else wrong}


def time_records() -> None:
    schema, _ = described(SEED)
    scorer = BulkScorer(scorer=compile_schema(schema))
    rows = list(records(SAMPLE))
    leaves = len(scorer.score(rows[0]).attempts[0].score.leaves)  # type: ignore[union-attr]
    results: list[CaseResult] = [scorer.score(row) for row in rows]
    compiled = scorer.scorer
    assert compiled is not None
    calls = {
        "json.loads of gold and output": lambda: [(json.loads(row["gold"]), json.loads(row["output"])) for row in rows],
        "parse and all measures": lambda: [
            compiled.score_text(json.loads(row["gold"]), row["output"]).measures and None for row in rows
        ],
        "the whole result": lambda: [scorer.score(row) and None for row in rows],
        "a row of the table": lambda: table_of(results),
    }
    found = multiples([*calls.values()], times=20)
    unit, *taken = [took / SAMPLE * 1000 for took in best([*calls.values()], times=20)]
    print(f"a record of {leaves} leaves; json.loads: {unit:.1f} us")
    for name, took, multiple in zip(list(calls)[1:], taken, found, strict=True):
        target = "   <= 10x" if name.startswith("parse") else ""
        print(f"  {name:<40}{took:>9.1f} us{multiple:>8.1f}x{target}", flush=True)


def peak_memory() -> float:
    """Return the most memory that this process has had, in MB; on Linux without what its parent had when it started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def measure_stream(count: int) -> None:
    """Parse and measure so many records, none like another, and print what it took; no result is kept."""
    schema, gold = described(SEED)
    scorer = compile_schema(schema)
    texts = json.dumps(gold), json.dumps(mistaken(gold, 1))
    tags = next(name for name, value in gold.items() if isinstance(value, list))
    start, passed = process_time(), 0.0
    for number in range(count):
        mark = f'"record {number}"'
        right = texts[0].replace(json.dumps(gold[tags][0]), mark)
        output = texts[number % 4 == 0].replace(json.dumps(gold[tags][0]), mark)
        passed += scorer.score_text(json.loads(right), output).measures["pass_rate"]
    took = process_time() - start
    peak = peak_memory()
    print(
        f"  {count:>9,} records: {took:7.1f} s, {1e6 * took / count:6.0f} us each, peak {peak:.0f} MB, "
        f"mean pass rate {passed / count:.3f}",
        flush=True,
    )


def score_file(count: int) -> None:
    """Score a table in this process and print what it took."""
    schema, _ = described(SEED)
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "table.jsonl", Path(name) / "results.parquet"
        with source.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in records(count))
        start = process_time()
        totals = score_table(BulkScorer(scorer=compile_schema(schema)), source, target)
        took = process_time() - start
        peak = peak_memory()
        size = target.stat().st_size
    print(
        f"  {totals.records:>9,} records: {took:7.1f} s, {1e6 * took / totals.records:6.0f} us each, peak {peak:.0f} MB, "
        f"file {size / totals.records:.0f} bytes a record",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000, help="records of the larger table")
    parser.add_argument("--only", type=int, help="score a table of so many records, in this process")
    parser.add_argument("--measure", type=int, help="parse and measure so many records, in this process")
    options = parser.parse_args()
    if options.only is not None:
        score_file(options.only)
        return
    if options.measure is not None:
        measure_stream(options.measure)
        return
    time_records()
    print("parse and all measures, a process each", flush=True)
    for count in (options.records, 10 * options.records):
        subprocess.run([sys.executable, __file__, "--measure", str(count)], check=True)
    print("JSONL to Parquet, a process each", flush=True)
    for count in (options.records // 10, options.records):
        subprocess.run([sys.executable, __file__, "--only", str(count)], check=True)


if __name__ == "__main__":
    main()
