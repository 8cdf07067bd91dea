"""What the plugin adds to the start of a pytest run that has no extract cases.

Run by hand: `python tests/benchmarks/bench_startup.py [ROUNDS]`. Runs `pytest --collect-only` on one empty test file with
and without the plugin by turns, in fresh processes, and prints the medians in milliseconds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OTHERS = ("randomly", "asyncio", "hypothesispytest", "anyio", "xdist", "timeout", "rerunfailures", "cacheprovider")


def run_once(folder: Path, *args: str) -> float:
    """Milliseconds of one run in a fresh process."""
    without = [part for name in OTHERS for part in ("-p", f"no:{name}")]
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *without, *args],
        cwd=folder, check=True, stdout=subprocess.DEVNULL, env=environment(folder),
    )  # fmt: skip
    return (time.perf_counter() - started) * 1000


def environment(folder: Path) -> dict[str, str]:
    """As on any machine: compiled modules are kept, here beside the test file."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_nothing.py").write_text("def test_nothing(): pass\n", encoding="utf-8")
        run_once(folder), run_once(folder, "-p", "no:pytest_extract")
        with_plugin: list[float] = []
        without: list[float] = []
        for _ in range(rounds):
            with_plugin.append(run_once(folder))
            without.append(run_once(folder, "-p", "no:pytest_extract"))
    added = statistics.median(a - b for a, b in zip(with_plugin, without, strict=True))
    print(f"with the plugin     {statistics.median(with_plugin):7.1f} ms  (best {min(with_plugin):.1f})")
    print(f"without             {statistics.median(without):7.1f} ms  (best {min(without):.1f})")
    print(
        f"added               {added:7.1f} ms  (median of {rounds} pairs; of the bests {min(with_plugin) - min(without):.1f})"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
