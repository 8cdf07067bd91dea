"""Runs all benchmarks, one after the other: `python tests/benchmarks`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run each script in a process of its own."""
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n== {script.stem}", flush=True)
        subprocess.run([sys.executable, script], check=True)


if __name__ == "__main__":
    main()
