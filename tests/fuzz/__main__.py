"""Harnesses that try to prove the product wrong, each a command: `.venv/bin/python tests/fuzz COMMAND --help`.

pairs     random JSON against random schemas, for as long as told: no exception, scores in [0, 1], laws of scoring
outputs   hostile outputs of models, each in a process of its own: failure kind, CPU time, peak memory
kills     runs killed at random moments, a full disk, a folder that cannot be written to: nothing lost or damaged
server    a model server that misbehaves: the outcome of each case, calls and time

Each exits 1 when something is wrong. pytest runs a small slice of the first three with the other tests; the server, which
takes minutes, is for the night.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

COMMANDS = ("pairs", "outputs", "kills", "server")


def main() -> int:
    """Hand over to the command's module."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    return import_module(f"tests.fuzz.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])  # this folder's names are not for other modules to find
    sys.exit(main())
