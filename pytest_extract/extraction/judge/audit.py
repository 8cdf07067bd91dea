"""How far a judge agrees with people: kept answers against the verdicts of `verdicts.yaml`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.extraction.judge.cache import StoredAnswer
from pytest_extract.extraction.judge.overrides import Override, Overrides

EQUAL_FROM: Final = 0.7
"""Score from which a verdict counts as "equal": ExtractBench's threshold for judged metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A judge's kept answer beside a person's verdict on the same pair."""

    answer: StoredAnswer
    override: Override

    @property
    def labels(self) -> tuple[bool, bool]:
        """Equal or not: the judge's word, the person's word."""
        return (self.answer.score >= EQUAL_FROM, self.override.score >= EQUAL_FROM)

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        judge, person = self.labels
        return judge is person


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One judge (with one version of our prompt) against people. `kappa` is None where it is undefined."""

    judge: str
    prompt_version: int
    comparisons: tuple[JudgedPair, ...]
    kappa: float | None

    @property
    def agreed(self) -> int:
        """Number of pairs on which both say the same."""
        return sum(comparison.agree for comparison in self.comparisons)

    @property
    def rate(self) -> float:
        """Observed agreement, in [0, 1]."""
        return self.agreed / len(self.comparisons)


def audit(overrides: Overrides, answers: Iterable[StoredAnswer]) -> tuple[tuple[Agreement, ...], int]:
    """Return the agreement of each judge that answered about an overridden pair, and the number of pairs none did."""
    groups: dict[tuple[str, int], list[JudgedPair]] = {}
    met: set[int] = set()
    for answer in answers:
        override = overrides.about(answer.pair, answer.instructions)
        if override is not None:
            met.add(id(override))
            comparison = JudgedPair(answer=answer, override=override)
            groups.setdefault((answer.judge, answer.prompt_version), []).append(comparison)
    agreements = tuple(_agreement(*name, groups[name]) for name in sorted(groups))
    return agreements, sum(id(override) not in met for override in overrides.verdicts)


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Cohen's kappa of two raters' labels: (observed - expected) / (1 - expected agreement), in [-1, 1].

    None where it is undefined: no pair, or both raters give all the same label. (Cohen 1960, equation 1.)
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(first == second for first, second in pairs) / total
    left, right = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(left[label] * right[label] for label in left)
    if chance == total * total:
        return None
    expected = chance / (total * total)
    return (observed - expected) / (1 - expected)


def _agreement(judge: str, prompt_version: int, comparisons: Sequence[JudgedPair]) -> Agreement:
    kappa = cohen_kappa([comparison.labels for comparison in comparisons])
    return Agreement(judge=judge, prompt_version=prompt_version, comparisons=tuple(comparisons), kappa=kappa)
