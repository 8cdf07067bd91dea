"""Python's garbage collector, held back while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Generator[None]:
    """Hold back the garbage collector, which would go through what is there again and again as it grows.

    What nothing refers to is freed as ever; only circles of objects wait.
    """
    held = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if held:
            gc.enable()
