"""Variants of runs side by side: SOB's leaderboard (`scripts/build_leaderboard.py`) over all cases of all variants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_extract.core.aggregate.bootstrap import mean
from pytest_extract.core.aggregate.run import CaseMeasures, case_rows
from pytest_extract.core.aggregate.sob import SOB_METRICS, LeaderboardRow, published_columns, sob_leaderboard_row
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.complexity import WEIGHTS

MODALITIES: Final = ("text", "image", "audio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One variant: its leaderboard row, None where not one case has a score.

    `overall` is the row's `raw` times `coverage`: the share of all cases of all variants that this one has a score for.
    `pass_rate`: the mean over its scored cases.
    """

    variant: str
    row: LeaderboardRow | None
    coverage: float
    results: tuple[CaseResult, ...]
    pass_rate: float = 0.0

    @property
    def overall(self) -> float:
        """Coverage-adjusted score, 0.0 without a scored case."""
        return 0.0 if self.row is None else self.row.raw * self.coverage


def standings(results: Iterable[CaseResult]) -> list[Standing]:
    """Rank variants by overall to four places, then value accuracy, as SOB does, then by pass rate.

    SOB's numbers are 0 for all variants where each output breaks the schema, as those that repeat a gold that does.

    A modality counts with the difficulty weights of its cases; where no case's complexity is known, with their number.
    """
    variants: dict[str, list[CaseResult]] = {}
    cases: dict[tuple[str, str], CaseResult] = {}
    for result in results:
        variants.setdefault(result.variant.label, []).append(result)
        case = (result.file, result.case_id)
        if case not in cases or cases[case].complexity is None:  # a case that crashed knows nothing of itself
            cases[case] = result
    weights = {kind: _weight([case for case in cases.values() if case.modality == kind]) for kind in MODALITIES}
    found = [_standing(variant, members, weights, len(cases)) for variant, members in variants.items()]
    return sorted(found, key=_rank)


def _rank(standing: Standing) -> tuple[float, float, float]:
    accuracy = 0.0 if standing.row is None else standing.row.columns.get("value_accuracy", 0.0)
    return -round(standing.overall, 4), -accuracy, -standing.pass_rate


def _weight(cases: Sequence[CaseResult]) -> float:
    return sum(WEIGHTS.get(case.complexity or "", 0.0) for case in cases) or float(len(cases))


def _standing(variant: str, results: Sequence[CaseResult], weights: dict[str, float], cases: int) -> Standing:
    by_kind = {kind: case_rows(one for one in results if one.modality == kind) for kind in MODALITIES}
    scored = sum(len(rows) for rows in by_kind.values())
    if not scored:
        return Standing(variant=variant, row=None, coverage=0.0, results=tuple(results))
    means = {kind: _means(rows) if rows else None for kind, rows in by_kind.items()}
    row = sob_leaderboard_row(
        variant, means, weights=weights, records={kind: len(rows) for kind, rows in by_kind.items()}
    )
    rates = [row.measures["pass_rate"] for rows in by_kind.values() for row in rows]
    return Standing(
        variant=variant, row=row, coverage=scored / cases, results=tuple(results), pass_rate=sum(rates) / len(rates)
    )


def _means(rows: Sequence[CaseMeasures]) -> dict[str, float]:
    """Means of SOB's columns, weighted by complexity where any is known."""
    columns = published_columns([row.measures for row in rows])
    weights = [row.weight for row in rows] if any(row.weight for row in rows) else None
    return {name: mean([column[name] for column in columns], weights) for name in SOB_METRICS}
