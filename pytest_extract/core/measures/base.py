"""The row of the measure table: what readers, gates and thresholds know of a measure."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """One measure of an output, a number in [0, 1]; a better output has a higher one.

    systems: the systems that report it; column: its name in a row that the published program writes, None without one.
    """

    name: str
    doc: str
    systems: tuple[str, ...] = ()
    column: str | None = None
