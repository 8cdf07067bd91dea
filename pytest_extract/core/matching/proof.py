"""Whether equal rows may be paired before everything else: a proof by linear programming duality.

An assignment is best when every row and column can be given a potential such that the two potentials of any pair are at
least its score, and are exactly its score on the chosen pairs. The rest of the rows has such potentials from its own
assignment. An equal pair scores 1, so its two potentials are 1 - t and t; which t fits is bounded from both sides by
the rest of the rows. Where nothing fits, the pair is given back to the rest and all is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_extract.core.matching.encoding import EncodedTable, Pairs
from pytest_extract.core.matching.solve import ScoreOf, backend, solve

_ROUNDS = 4
_PAYS = 0.7  # share of all cells that the proof may look at
_ROUNDING = 1e-12


def proved(
    problem: EncodedTable, same: Pairs, rows: Sequence[int], columns: Sequence[int], score_of: ScoreOf
) -> Pairs | None:
    """Return a best fit that keeps equal pairs together where that is best; None where solving in full is cheaper.

    `same`: pairs of equal rows, of score 1; `rows`, `columns`: all other rows.
    """
    for _ in range(_ROUNDS):
        height, width = len(same) + len(rows), len(same) + len(columns)
        if height * width - len(same) ** 2 > _PAYS * height * width:
            return None
        proof = _Proof(problem, same, rows, columns, score_of)
        torn = proof.torn()
        if torn is None:
            return None
        if not torn:
            return [*same, *proof.pairs]
        rows = sorted([*rows, *(same[x][0] for x in torn)])
        columns = sorted([*columns, *(same[x][1] for x in torn)])
        same = [pair for x, pair in enumerate(same) if x not in torn]
    return None


class _Proof:
    """One attempt with a fixed set of equal pairs."""

    def __init__(
        self, problem: EncodedTable, same: Pairs, rows: Sequence[int], columns: Sequence[int], score_of: ScoreOf
    ) -> None:
        self.problem = problem
        self.module = module = backend(problem, len(rows) + len(columns), len(same))
        self.golds = [row for row, _ in same]
        self.others = [column for _, column in same]
        found = solve(problem, rows, columns, score_of, module, potentials=True)
        self.pairs = found.pairs
        to_same = module.score_matrix(problem, rows, self.others)
        from_same = module.score_matrix(problem, self.golds, columns)
        self.least = module.highest_over_rows(to_same, found.rows)
        self.most = [1.0 - x for x in module.highest_over_columns(from_same, found.columns)]
        # the longer side may be left over, at a potential of 0: none of its own is below
        if len(rows) < len(columns):
            self.least = [max(x, 0.0) for x in self.least]
        elif len(rows) > len(columns):
            self.most = [min(x, 1.0) for x in self.most]

    def torn(self) -> set[int] | None:
        """Return the equal pairs for which no potential fits; None where finding out is too dear."""
        torn = {x for x, (low, high) in enumerate(zip(self.least, self.most, strict=True)) if low > high + _ROUNDING}
        if torn or max(self.least) <= min(self.most) + _ROUNDING:
            return torn  # one t for all fits any two equal pairs, as no score is above 1
        return self._torn_by_each_other()

    def _torn_by_each_other(self) -> set[int] | None:
        """Give most equal pairs one t, the others the nearest that fits, and look at pairs between the two kinds."""
        bounds = sorted(self.least + self.most)
        usual = bounds[len(bounds) // 2]
        chosen = [min(max(usual, low), high) for low, high in zip(self.least, self.most, strict=True)]
        above = [x for x, t in enumerate(chosen) if t > usual]
        below = [x for x, t in enumerate(chosen) if t < usual]
        if 2 * (len(above) + len(below)) > len(chosen):
            return None
        return {*self._outbid_rows(above, chosen), *self._outbid_columns(below, chosen)}

    def _outbid_rows(self, above: list[int], chosen: list[float]) -> list[int]:
        if not above:
            return []
        scores = self.module.score_matrix(self.problem, [self.golds[x] for x in above], self.others)
        highest = self.module.highest_over_columns(scores, chosen)
        return [x for x, bid in zip(above, highest, strict=True) if bid > 1.0 - chosen[x] + _ROUNDING]

    def _outbid_columns(self, below: list[int], chosen: list[float]) -> list[int]:
        if not below:
            return []
        scores = self.module.score_matrix(self.problem, self.golds, [self.others[x] for x in below])
        highest = self.module.highest_over_rows(scores, [1.0 - t for t in chosen])
        return [x for x, bid in zip(below, highest, strict=True) if bid > chosen[x] + _ROUNDING]
