"""What the commands on results files take: processor time and peak memory, each command in a process of its own.

    python tests/benchmarks/bench_commands.py [--results 10000] [--bigger] [--large] [--only compare report ...]

The files are made here as a run writes them: cases of 10 fields, 10 % of which fail in one field or two, the second run
with other mistakes than the first. `--bigger`: each case has a list of 40 rows (165 fields) instead. `--large`: 100,000
results as well, of which each 10,000 have the values of the first.

Targets: 10,000 results within 5 s and 200 MB, 100,000 within 60 s and 1 GB; an HTML page within 30 MB.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import Process
from pathlib import Path
from typing import Any, NamedTuple

from documents import words

from pytest_extract import compile_schema
from pytest_extract.cases.model import Case
from pytest_extract.core.case_result import Usage
from pytest_extract.core.gates import GateConfig
from pytest_extract.core.scorer import Scorer
from pytest_extract.core.values import canonical_json, text_digest
from pytest_extract.documents import Document
from pytest_extract.extraction.base import Extraction
from pytest_extract.results import dump_safely
from pytest_extract.run_case import run_case

COMMAND = "import sys; from pytest_extract.cli import main; sys.exit(main())"
DISTINCT = 10_000
TARGETS = {10_000: (5, 200), 100_000: (60, 1_000)}
"""Seconds and MB by number of results."""
PAGE_MB = 30
FAILING = 0.1
TEXT, NUMBER = {"type": "string"}, {"type": "number"}
INVOICE: dict[str, Any] = {
    "invoice_number": TEXT,
    "vendor": TEXT,
    "date": {"type": "string", "format": "date"},
    "total": NUMBER,
    "tax": NUMBER,
    "currency": {"enum": ["USD", "EUR", "GBP"]},
    "po_number": {"type": ["string", "null"]},
    "paid": {"type": "boolean"},
    "pages": {"type": "integer"},
    "customer": TEXT,
}
ROW = {"description": TEXT, "quantity": {"type": "integer"}, "price": NUMBER, "code": TEXT}


def invoice(rng: random.Random, rows: int) -> dict[str, Any]:
    return {
        "invoice_number": f"INV-{rng.randrange(10**6):06}",
        "vendor": words(rng, 3),
        "date": f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        "total": round(rng.uniform(1, 90_000), 2),
        "tax": round(rng.uniform(1, 9_000), 2),
        "currency": rng.choice(INVOICE["currency"]["enum"]),
        "po_number": None if rng.random() < 0.3 else f"PO-{rng.randrange(10**5)}",
        "paid": rng.random() < 0.5,
        "pages": rng.randint(1, 40),
        "customer": words(rng, 2),
        **(
            {
                "rows": [
                    {
                        "description": words(rng, 4),
                        "quantity": rng.randint(1, 99),
                        "price": round(rng.uniform(1, 999), 2),
                        "code": f"C{rng.randrange(10**4)}",
                    }
                    for _ in range(rows)
                ]
            }
            if rows
            else {}
        ),
    }


def output_for(gold: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return gold, or in a tenth of the cases gold with one or two wrong values."""
    if rng.random() >= FAILING:
        return gold
    found = dict(gold)
    for name in rng.sample(("vendor", "date", "total", "po_number", "customer"), rng.choice((1, 1, 2))):
        value = found[name]
        found[name] = round(value * 10, 2) if name == "total" else None if name == "po_number" and value else "x" * 9
    if "rows" in gold:
        found["rows"] = [*gold["rows"][:-2], {**gold["rows"][-2], "quantity": 1_000}]
    return found


def result_lines(run: int, count: int, rows: int) -> Iterator[str]:
    """Yield the lines of a results file."""
    properties = dict(INVOICE)
    if rows:
        properties["rows"] = {"type": "array", "items": {"type": "object", "properties": ROW}}
    schema = {"type": "object", "properties": properties}
    scorer = compile_schema(schema)
    digest = text_digest(canonical_json(schema))
    for number in range(count):
        rng = random.Random(number)
        gold = invoice(rng, rows)
        kind = rng.choice(("invoice", "order", "memo"))
        output = output_for(gold, random.Random(f"{run} {number}"))
        yield result_line(scorer, schema, digest, gold, output, number, kind)


def result_line(scorer: Scorer, schema: Any, digest: str, gold: Any, output: Any, number: int, kind: str) -> str:
    path = Path("tests/invoices.extract.yaml")
    case = Case(
        id=f"case-{number}", path=path, line=number + 1, document=Document(text=f"document {number}"), schema=schema,
        scorer=scorer, gold=gold, gold_path=path, schema_path=path, schema_sha256=digest, semantics="ours",
        gates=GateConfig(), tags={"kind": kind},
    )  # fmt: skip
    extraction = Extraction(
        output=canonical_json(output),
        usage=Usage(prompt_tokens=900 + number % 90, completion_tokens=120, total_tokens=1_020 + number % 90),
        cost_usd=0.001 + number % 7 / 10_000,
        latency_s=1.5 + number % 11 / 10,
    )
    result = run_case(case, lambda _: extraction, nodeid=f"{path}::{case.id}", file=str(path))
    return dump_safely(result)


def write_runs(folder: Path, distinct: int, counts: list[int], rows: int) -> None:
    """Write two runs of each size: the lines of the first `distinct` cases again and again, under other names."""
    for run in (0, 1):
        lines = list(result_lines(run, distinct, rows))
        for count in counts:
            with (folder / f"{count}-{run}.jsonl").open("w", encoding="ascii") as file:
                for number in range(count):
                    line, block = lines[number % distinct], number // distinct
                    if block:
                        line = re.sub(r"case-\d+", f"case-{number}", line).replace('"INV-', f'"I{block}-')
                        line = re.sub(r'("(?:gold|document)":")[0-9a-f]{8}', rf"\g<1>{number:08x}", line)
                    file.write(f"{line}\n")


class Taken(NamedTuple):
    """What a process took."""

    seconds: float
    megabytes: float
    status: int


def take(folder: Path, *arguments: str) -> Taken:
    """Run the command in a process; its output goes to a file."""
    with (folder / "output.txt").open("w", encoding="utf-8") as out:
        process = subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], cwd=folder, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Taken(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, process.returncode)


def commands_of(count: int) -> dict[str, tuple[str, ...]]:
    """Map each row to the arguments of its command."""
    one, other = f"{count}-0.jsonl", f"{count}-1.jsonl"
    return {
        "compare": ("runs", "compare", one, other),
        "compare --by kind": ("runs", "compare", one, other, "--by", "kind"),
        "report": ("runs", "report", one),
        "report --by kind": ("runs", "report", one, "--by", "kind"),
        "report --html": ("runs", "report", one, "--html", "page.html"),
        "report --markdown": ("runs", "report", one, "--markdown", "run.md"),
        "report --csv": ("runs", "report", one, "--csv", "run.csv"),
        "leaderboard": ("runs", "leaderboard", one),
        "leaderboard of two runs": ("runs", "leaderboard", one, other),
        "merge": ("runs", "merge", one, "-o", "merged.jsonl"),
        "merge, all cases twice": ("runs", "merge", one, one, "-o", "merged.jsonl"),
    }


def measure(folder: Path, count: int, only: list[str]) -> None:
    """Print a row for each command."""
    size = (folder / f"{count}-0.jsonl").stat().st_size
    print(f"\n{count:,} results, {size / 2**20:.0f} MB a file", flush=True)
    most = TARGETS.get(count)
    for name, arguments in commands_of(count).items():
        if only and re.split("[ ,]", name)[0] not in only and name not in only:
            continue
        taken = take(folder, *arguments)
        text = f"  {name:<28}{taken.seconds:>8.1f} s{taken.megabytes:>9.0f} MB"
        if most is not None:
            missed = taken.seconds > most[0] or taken.megabytes > most[1]
            text += f"   <= {most[0]} s, {most[1]:,} MB" + (" MISSED" if missed else "")
        if taken.status not in (0, 1, 3):
            text += f"   FAILED with {taken.status}: {(folder / 'output.txt').read_text()[-300:]}"
        if name == "report --html":
            text += f"   page {(folder / 'page.html').stat().st_size / 1e6:.1f} MB, at most {PAGE_MB}"
        print(text, flush=True)


def main() -> None:
    """Make the files, and print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=int, default=10_000, help="results of a file")
    parser.add_argument("--bigger", action="store_true", help="cases with a list of 40 rows")
    parser.add_argument("--large", action="store_true", help="100,000 results, too")
    parser.add_argument("--only", nargs="+", default=[], help="commands to run")
    parser.add_argument("--folder", type=Path, help="keep the files here, and use those that are there")
    options = parser.parse_args()
    counts = [options.results, *([100_000] if options.large else [])]
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        if not all((folder / f"{count}-{run}.jsonl").exists() for count in counts for run in (0, 1)):
            folder.mkdir(parents=True, exist_ok=True)
            # in a process of its own: the peak of a command's process includes what the one that starts it has in memory
            maker = Process(target=write_runs, args=(folder, min(DISTINCT, *counts), counts, 40 * options.bigger))
            maker.start()
            maker.join()
        for count in counts:
            measure(folder, count, options.only)


if __name__ == "__main__":
    main()
