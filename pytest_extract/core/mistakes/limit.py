"""How many wrong values of an output have no name because it has too many."""

from __future__ import annotations

from typing import NamedTuple

from pytest_extract.core.mistakes.output import MOST_NAMED, compared_results
from pytest_extract.core.results import WRONG, ScoreRecord


class NamingLimit(NamedTuple):
    """Outputs with more wrong values than mistakes are named for: how many, their wrong values, and those named."""

    outputs: int
    wrong: int
    named: int

    @classmethod
    def of(cls, score: ScoreRecord) -> NamingLimit | None:
        """Count one output; None if all of its wrong values are named, as far as a rule can."""
        if not score.mistakes or len(score.leaves) + len(score.fields) <= MOST_NAMED:
            return None
        wrong = sum(result.status in WRONG for result in compared_results(score.leaves, score.fields))
        return cls(1, wrong, MOST_NAMED) if wrong > MOST_NAMED else None

    def __add__(self, other: tuple[int, ...]) -> NamingLimit:  # type: ignore[override]
        """Add outputs up."""
        return NamingLimit(*(one + more for one, more in zip(self, other, strict=True)))

    def __str__(self) -> str:
        where = "" if self.outputs == 1 else f" of {self.outputs:,} outputs"
        return f"mistakes are named for the first {self.named:,} of {self.wrong:,} wrong values{where}"
