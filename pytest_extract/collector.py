"""Python's garbage collector, held back while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import TypeVar, TypeVarTuple

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


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


def without_collection(function: Callable[[*_Arguments], _Result]) -> Callable[[*_Arguments], _Result]:
    """Decorate a function that is called often and may make many objects: `no_collection` takes longer to begin."""

    @wraps(function)
    def held_back(*args: *_Arguments) -> _Result:
        if not gc.isenabled():
            return function(*args)
        try:
            gc.disable()
            return function(*args)
        finally:
            gc.enable()

    return held_back
