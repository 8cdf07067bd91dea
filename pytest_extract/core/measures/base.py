"""The row of the measure table: a measure's name, its function, and what readers, gates and thresholds know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, ParamSpec

from pytest_extract.lazy import dataclass

P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Generic[P]):
    """One measure of an output, a number in [0, 1].

    systems: the systems that report it; column: its name in a row that the published program writes, None without one.
    threshold: whether a case or the suite can bound it; better: the direction in which an output improves.
    """

    name: str
    function: Callable[P, float]
    doc: str
    systems: tuple[str, ...]
    column: str | None = None
    threshold: bool = True
    better: Literal["higher", "lower"] = "higher"
