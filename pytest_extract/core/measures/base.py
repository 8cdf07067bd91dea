"""The row of the measure table: what readers, gates and thresholds know of a measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure of an output, a number in [0, 1].

    systems: the systems that report it; column: its name in a row that the published program writes, None without one.
    threshold: whether a case or the suite can bound it; better: the direction in which an output improves.
    """

    name: str
    doc: str
    systems: tuple[str, ...]
    column: str | None = None
    threshold: bool = True
    better: Literal["higher", "lower"] = "higher"
