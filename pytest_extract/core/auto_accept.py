"""Auto-accept: values whose confidence reaches a threshold are taken without a person; how many, and how many right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_extract.core.results import FieldResult, Status, is_covered

_UNDECIDED = frozenset({Status.SKIPPED, Status.JUDGE_ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoAccept:
    """Which values are accepted, and which share of them must be right.

    confidence: the lowest with which a value is accepted, None where only `fields` are; fields: that of single fields,
    by pattern or path. precision: the share of the accepted values that must be right, None where none is asked for.
    """

    confidence: float | None = None
    precision: float | None = None
    fields: Mapping[str, float] = field(default_factory=dict)

    def accepts(self, leaf: FieldResult) -> bool:
        """Whether the value of a leaf result is taken without a person."""
        confidence = leaf.confidence
        if confidence is None:
            return False
        lowest = self.confidence
        if self.fields:
            lowest = self.fields.get(leaf.pattern, self.fields.get(str(leaf.path), lowest))
        return lowest is not None and confidence >= lowest

    @property
    def text(self) -> str:
        """The thresholds, for a sentence."""
        parts = [f"{name} {lowest:g}" for name, lowest in self.fields.items()]
        if self.confidence is not None:
            parts.insert(0, f"{self.confidence:g}")
        return ", ".join(parts)


class AcceptedCounts(NamedTuple):
    """Decided leaf results: all of them, those that are accepted, and those of the accepted that are wrong."""

    decided: float = 0
    accepted: float = 0
    wrong: float = 0

    @property
    def precision(self) -> float:
        """Share of the accepted values that are right; 1.0 where none is accepted."""
        return 1 - self.wrong / self.accepted if self.accepted else 1.0

    @property
    def coverage(self) -> float:
        """Share of the decided values that are accepted; 0.0 where none is decided."""
        return self.accepted / self.decided if self.decided else 0.0


def decided_leaves(leaves: Iterable[FieldResult], known: Sequence[str] = ()) -> list[FieldResult]:
    """Return the leaf results that count: neither skipped nor undecided, and at no place of a known failure."""
    return [leaf for leaf in leaves if leaf.status not in _UNDECIDED and not is_covered(leaf, known)]


def count_accepted(
    leaves: Iterable[FieldResult], rule: AutoAccept, known: Sequence[str] = (), *, usable: bool = True
) -> AcceptedCounts:
    """Count the values of one output by a rule; of one that fails a structural gate (`usable`) none is accepted."""
    decided = decided_leaves(leaves, known)
    accepted = [leaf for leaf in decided if usable and rule.accepts(leaf)]
    return AcceptedCounts(len(decided), len(accepted), sum(not leaf.passed for leaf in accepted))
