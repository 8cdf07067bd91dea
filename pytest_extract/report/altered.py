"""What altered documents show: values invented where they are absent, and falls against the plain case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.values import FieldPath, pattern_of
from pytest_extract.report.lines import percent
from pytest_extract.report.table import Table

_WITHOUT = "without-"


def altered_tables(results: Iterable[CaseResult]) -> list[Table]:
    """Set values that are invented where they are absent beside those that are found, and altered beside plain cases.

    Nothing for a run without altered documents. A case that broke or was not run is in no row.
    """
    plain: dict[tuple[str, ...], CaseResult] = {}
    altered: dict[str, list[tuple[CaseResult, CaseResult]]] = defaultdict(list)
    every = [result for result in results if result.scores]
    for result in every:
        if not result.altered:
            plain[result.file, result.case_id, result.variant.label] = result
    for result in every:
        of = result.case_id.removesuffix(f"[{result.altered}]")
        if result.altered and (result.file, of, result.variant.label) in plain:
            altered[result.altered].append((plain[result.file, of, result.variant.label], result))
    absent = {name.removeprefix(_WITHOUT): pairs for name, pairs in altered.items() if name.startswith(_WITHOUT)}
    others = {name: pairs for name, pairs in altered.items() if not name.startswith(_WITHOUT)}
    return [*_absence_table(absent), *_fall_table(others)]


def _absence_table(absent: Mapping[str, Sequence[tuple[CaseResult, CaseResult]]]) -> list[Table]:
    by_field: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for place, pairs in absent.items():
        for present, result in pairs:
            found = [leaf.passed for score in present.scores for leaf in score.leaves if str(leaf.path) == place]
            invented = any(f"absent.{place}" in breach.what for each in result.attempts for breach in each.breaches)
            by_field[pattern_of(FieldPath.parse(place))].append((bool(found) and all(found), invented))
    if not by_field:
        return []
    rows = [
        (field, *(_share([pair[side] for pair in pairs]) for side in (0, 1)))
        for field, pairs in sorted(by_field.items(), key=lambda item: (-sum(each[1] for each in item[1]), item[0]))
    ]
    return [Table(("field", "found when present", "invented when absent"), rows, "absence under test")]


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values):,} of {len(values):,} ({percent(sum(values) / len(values))})"


def _fall_table(others: Mapping[str, Sequence[tuple[CaseResult, CaseResult]]]) -> list[Table]:
    if not others:
        return []
    rows = []
    for name, pairs in sorted(others.items()):
        before, after = (fsum(_rate(pair[side]) for pair in pairs) / len(pairs) for side in (0, 1))
        change = f"{100 * (after - before):+.1f} points"
        rows.append((name, f"{len(pairs):,}", percent(before), percent(after), change))
    return [Table(("document", "cases", "plain", "altered", "change"), rows, "altered documents: fields right")]


def _rate(result: CaseResult) -> float:
    return fsum(score.measures.get("pass_rate", 0.0) for score in result.scores) / len(result.scores)
