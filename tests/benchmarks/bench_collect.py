"""Collecting 10,000 cases, beside a bare `pytest_collect_file` that only loads the YAML.

    python tests/benchmarks/bench_collect.py [--cases 10000] [--rounds 3]

Each way of cutting the cases into files is collected by a whole pytest in a process of its own; the best of the rounds
counts. The bare collector makes one item a case and loads with PyYAML's fastest safe loader. Target: ratio <= 1.5.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
        "total": {"type": "number"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
    },
}
CASE = """document: invoice.txt
gold: {{vendor: {{name: Vendor {n}}}, total: {n}.5, items: [{{price: 1}}, {{price: {n}}}]}}
question: What was billed?
tags: {{supplier: acme}}
thresholds:
  pass_rate: 0.95
  fields: {{"total": 1.0, "items[].price": 0.8}}
"""
BARE = """
import pytest, yaml
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

class Item(pytest.Item):
    def runtest(self):
        pass

class File(pytest.File):
    def collect(self):
        with open(self.path, encoding="utf-8") as text:
            loaded = yaml.load(text, Loader)
        for number, case in enumerate(loaded.get("cases", [loaded])):
            yield Item.from_parent(self, name=str(number))

def pytest_collect_file(parent, file_path):
    if file_path.name.endswith(".extract.yaml"):
        return File.from_parent(parent, path=file_path)
"""


def write(folder: Path, cases: int, per_file: int) -> None:
    """Write the cases, `per_file` to a file."""
    (folder / "invoice.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (folder / "invoice.txt").write_text("Invoice", encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for number in range(0, cases, per_file):
        path = folder / f"c{number:05}.extract.yaml"
        if per_file == 1:
            path.write_text(f"schema: invoice.schema.json\n{CASE.format(n=number)}", encoding="utf-8")
            continue
        rows = (CASE.format(n=number + row).replace("\n", "\n  ").rstrip() for row in range(per_file))
        text = "".join(f"- {row}\n" for row in rows)
        path.write_text(f"defaults: {{schema: invoice.schema.json}}\ncases:\n{text}", encoding="utf-8")


def environment(bytecode: Path) -> dict[str, str]:
    """Return an environment in which compiled modules are kept, as they are where packages are installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def collect(folder: Path, cases: int, env: dict[str, str], *plugins: str) -> float:
    """Seconds of one collection in a process of its own."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *plugins, str(folder)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)
    seconds = time.perf_counter() - begin
    found = sum(int(line.rpartition(": ")[2]) for line in done.stdout.splitlines() if ".extract.yaml: " in line)
    if done.returncode or found != cases:
        sys.exit(f"collected {found} of {cases}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds


def main() -> None:
    """Print a line a way of cutting the cases into files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for per_file in (1, 100, given.cases):
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as bytecode:
            folder = Path(name).resolve()
            env = environment(Path(bytecode))
            write(folder, 1, 1)
            collect(folder, 1, env)
            write(folder, given.cases, per_file)
            ours: list[float] = []
            bare: list[float] = []
            for _ in range(given.rounds):
                (folder / "conftest.py").unlink(missing_ok=True)
                ours.append(collect(folder, given.cases, env))
                (folder / "conftest.py").write_text(BARE, encoding="utf-8")
                bare.append(collect(folder, given.cases, env, "-p", "no:pytest_extract"))
        ratio = min(ours) / min(bare)
        cut = f"{given.cases // per_file} files of {per_file}"
        print(f"{cut:22} ours {min(ours):6.2f} s   bare {min(bare):6.2f} s   ratio {ratio:.2f} (target <= 1.5)")


if __name__ == "__main__":
    main()
