"""What the plugin adds to a run of pytest: without extract cases, with one, and for each further case.

    python tests/benchmarks/bench_startup.py [--rounds 7] [--cases 1000]

Each run is a pytest in a process of its own without other plugins, compiled modules are kept, and what counts is the
least time of the processor over all rounds, which alternate. The cases have golds of 12 leaves, a file each, and an
extractor that returns the document's text. Targets: 150 ms for the first case of a session beyond a session of one
plain test, 2.5 ms for each further passing case beyond a plain test, and twice that if every tenth case fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

OTHERS = ("randomly", "asyncio", "hypothesispytest", "anyio", "xdist", "timeout", "rerunfailures", "cacheprovider")
WITHOUT = [part for name in OTHERS for part in ("-p", f"no:{name}")]
NO_PLUGIN = ("-p", "no:pytest_extract")
PLAIN = """
import pytest

@pytest.mark.parametrize("number", range({cases}))
def test_plain(number):
    assert number == number
"""
EXTRACTOR = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    return lambda document: document.text
"""
TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "vendor": {"type": "object", "properties": {"name": TEXT, "city": TEXT}},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "date": TEXT,
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "price": {"type": "number"}}},
        },
    },
}


def write_plain(folder: Path, cases: int) -> Path:
    """Write a file of plain tests."""
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_plain.py").write_text(PLAIN.format(cases=cases), encoding="utf-8")
    return folder


def write_cases(folder: Path, cases: int, failing: int = 0) -> Path:
    """Write files of one case; `failing`: every so many cases have two wrong values."""
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "conftest.py").write_text(EXTRACTOR, encoding="utf-8")
    (folder / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    for number in range(cases):
        prices = [1, number, 3]
        gold = {
            "id": f"I{number}",
            "vendor": {"name": f"Vendor {number}", "city": "Berlin"},
            "total": number + 0.5,
            "paid": True,
            "date": "2024-01-02",
            "items": [{"name": name, "price": price} for name, price in zip("abc", prices, strict=True)],
        }
        output = json.loads(json.dumps(gold))
        if failing and number % failing == 0:
            output["vendor"]["name"] = "Other"
            output["total"] += 1
        case = f"schema: schema.json\ntext: '{json.dumps(output)}'\ngold: {json.dumps(gold)}\n"
        (folder / f"c{number:05}.extract.yaml").write_text(case, encoding="utf-8")
    return folder


def environment(bytecode: Path) -> dict[str, str]:
    """As on any machine: compiled modules are kept."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def run_once(folder: Path, env: dict[str, str], *args: str) -> float:
    """Milliseconds of the processor for one run in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *WITHOUT, *args, "."],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode > 1 or " error" in done.stdout.splitlines()[-1]:
        sys.exit(f"{folder}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    """Print what each kind of run takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", type=int, default=1_000, help="cases of the long runs; they have two rounds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        env = environment(root / "compiled")
        plain, one = write_plain(root / "plain", 1), write_cases(root / "one", 1)
        short = {"plain": (plain, *NO_PLUGIN), "idle": (plain,), "one": (one,)}
        taken: dict[str, list[float]] = {}
        for number in range(options.rounds + 1):
            for kind, (folder, *args) in short.items():
                milliseconds = run_once(folder, env, *args)
                if number:  # the first compiles the modules
                    taken.setdefault(kind, []).append(milliseconds)
        best = {kind: min(rounds) for kind, rounds in taken.items()}
        first = best["one"] - best["plain"]
        print(f"a session of one plain test, without the plugin   {best['plain']:7.0f} ms")
        print(f"the plugin, without cases                         {best['idle'] - best['plain']:+7.1f} ms")
        print(f"the first case of a session                       {first:+7.1f} ms   <= 150 ms", flush=True)
        cases = options.cases
        many = {
            "plain": (write_plain(root / "many_plain", cases), *NO_PLUGIN),
            "one": (write_cases(root / "many", cases),),
            "failing": (write_cases(root / "failing", cases, failing=10),),
        }
        rounds = [{kind: run_once(folder, env, *args) for kind, (folder, *args) in many.items()} for _ in range(2)]
        each = {
            kind: (min(run[kind] for run in rounds) - best["plain" if kind == "plain" else "one"]) / cases
            for kind in many
        }
        print(f"a further plain test                              {each['plain']:7.2f} ms")
        print(f"a further passing case, beyond that               {each['one'] - each['plain']:7.2f} ms   <= 2.5 ms")
        ratio = each["failing"] / each["one"]
        print(f"a further case if every tenth fails               {ratio:7.2f} times a passing one   <= 2")


if __name__ == "__main__":
    main()
