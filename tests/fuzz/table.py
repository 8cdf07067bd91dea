"""Tables for people, and what the harnesses share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from pytest_extract.regression.baseline import CI

ROOT = Path(__file__).resolve().parents[2]


def parser_of(module: str, doc: str | None) -> argparse.ArgumentParser:
    name = module.rpartition(".")[2]
    how = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(prog=f"tests/fuzz {name}", description=doc, formatter_class=how)


def put_row(cells: Sequence[object], widths: Sequence[int]) -> None:
    """Print one row as soon as it is known."""
    print("  ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(), flush=True)


def quiet_env(**more: str) -> dict[str, str]:
    """Return an environment for a pytest run of its own, without what the developer's shell or CI adds to it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "EXTRACT_"))}
    for name in (*CI, "FORCE_COLOR"):
        kept.pop(name, None)
    plugins = " ".join(f"-p no:{name}" for name in ("randomly", "asyncio", "anyio", "hypothesispytest"))
    return {**kept, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": plugins, **more}
