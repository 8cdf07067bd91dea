"""Cases that died: right in every run before, and nothing usable in any run now. They are always named.

A run that breaks parse or schema has no right field. A case is dead if it lost more than half of its fields in every
run now against every run before. Where runs of another case differ by as much, such a thing happens by chance, and the
tests weigh it, unless most cases died; else luck is how probable it is that the dead runs are exactly the later ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from pytest_extract.core.aggregate.slices import DIMENSIONS, tag_text
from pytest_extract.core.stats.runs import Runs
from pytest_extract.regression.changes import CaseComparison, VariantComparison
from pytest_extract.regression.rules import Rules

_HALF: Final = 0.5
_FEWEST_FIELDS: Final = 3  # with fewer, half of the fields is one field, and only a gate kills a case
_WORSE_LUCK: Final = 1 / 16  # without a change, so many dead cases come up in at most 2 of 100 suites, at any rate
_DOUBTFUL_LUCK: Final = 1 / 8


class Weight(IntEnum):
    """What dead cases mean for the answer."""

    TOLD = 0
    DOUBT = 1
    WORSE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """The dead cases (`file::id`) of a variant, of all that are compared; `tags`: values all of whose cases died."""

    variant: str
    cases: tuple[str, ...]
    of: int
    tags: tuple[str, ...]
    weight: Weight


def find_collapse(variant: VariantComparison, rules: Rules) -> Collapse | None:
    """Return the cases of a variant that died; None where none did."""
    dead = [row for row in variant.compared if _least_loss(row) > _HALF]
    if len(variant.compared) > 1 and all(_lost(row.runs_overall) > _HALF for row in variant.compared):
        dead = [*variant.compared]  # of few fields one may be wrong by chance, but not in every case
    if not dead:
        return None
    names = {row.case for row in dead}
    tags = tuple(tag for tag, cases in _cases_by_tag(variant).items() if len(cases) > 1 and cases <= names)
    return Collapse(
        variant=variant.label,
        cases=tuple(row.case for row in dead),
        of=len(variant.compared),
        tags=tags,
        weight=_weight(variant, dead, rules, whole_tag=bool(tags)),
    )


def _weight(variant: VariantComparison, dead: list[CaseComparison], rules: Rules, *, whole_tag: bool) -> Weight:
    if rules.max_dead is not None:
        return Weight.WORSE if len(dead) > rules.max_dead else Weight.TOLD
    several, most = len(dead) > 1, 2 * len(dead) > len(variant.compared)
    names = {row.case for row in dead}
    if any(_spread(row) > _HALF for row in variant.compared if row.case not in names):
        return (Weight.WORSE if several else Weight.DOUBT) if most else Weight.TOLD
    luck = math.prod(1 / math.comb(sum(row.runs), row.runs[1]) for row in dead)
    if several and (most or whole_tag or luck <= _WORSE_LUCK):
        return Weight.WORSE
    return Weight.DOUBT if several or most or luck <= _DOUBTFUL_LUCK else Weight.TOLD


def _shares(row: CaseComparison) -> tuple[list[float], list[float]]:
    """Return the share of wrong fields in each run before and now; of few fields, whether a gate failed."""
    if row.fields >= _FEWEST_FIELDS:
        return [*map(float, row.runs_overall.before)], [*map(float, row.runs_overall.after)]
    gates = [runs for name, runs in row.runs_by_pattern.items() if name.startswith("(")]
    before, after = (
        [max((float(side[run]) for side in sides), default=0.0) for run in range(count)]
        for count, sides in zip(
            row.runs, ([gate.before for gate in gates], [gate.after for gate in gates]), strict=True
        )
    )
    return before, after


def _least_loss(row: CaseComparison) -> float:
    before, after = _shares(row)
    return min(after) - max(before)


def _lost(wrong: Runs) -> float:
    """Return the least loss of any run now against any run before."""
    return float(min(wrong.after)) - float(max(wrong.before))


def _spread(row: CaseComparison) -> float:
    before, after = _shares(row)
    return max(*before, *after) - min(*before, *after)


def _cases_by_tag(variant: VariantComparison) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in variant.compared:
        for tag in row.slices:
            if tag not in DIMENSIONS:
                found.setdefault(f"{tag}={tag_text(row.slices, tag)}", set()).add(row.case)
    return found
