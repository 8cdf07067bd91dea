"""Where optional test data stands: `shared/` beside the checkout; tests that want it skip where it is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(os.environ.get("PYTEST_EXTRACT_SHARED", Path(__file__).parents[2] / "shared"))


def shared(relative: str) -> Path:
    """Path of a shared file or folder; skips the calling test (or module, at import) without it."""
    path = ROOT / relative
    if not path.exists():
        pytest.skip(f"shared data not here: {relative}", allow_module_level=True)
    return path


def jsonl(relative: str) -> Iterator[dict[str, Any]]:
    with shared(relative).open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)
