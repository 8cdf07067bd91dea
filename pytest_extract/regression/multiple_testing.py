"""All tests of a comparison as one family: its error rate over arms, field patterns and the overall test is alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_extract.core.stats.exact import Difference, attainable, holm, mcnemar, sign_flip, tempered
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.regression.changes import ArmComparison, CaseComparison, Comparison
from pytest_extract.regression.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test of "worse". `pattern` is None for the test over all fields of an arm.

    `p`: exact sign-flip test, case by case. `adjusted`: corrected for the whole family, to be compared with alpha;
    1.0 where too few cases changed for any result to be significant. Over all fields the test weighs each case by the
    square root of its change (`tempered`), and can be significant only if the mean fell.
    `mcnemar`: exact McNemar test on the flips, which assumes independent fields; shown, never decisive. (Both tests
    agree where each case has one such field.)
    """

    arm: str
    pattern: str | None
    broken: int
    fixed: int
    p: float
    smallest: float
    mcnemar: float
    adjusted: float = 1.0


def run_tests(comparison: Comparison, rules: Rules) -> tuple[TestResult, ...]:
    """Test every arm over all fields, and every field pattern; worst first."""
    overall = [_overall(arm, rules) for arm in comparison.arms if arm.compared]
    patterns = [test for arm in comparison.arms for test in _by_pattern(arm)]
    tests = _adjust(overall, patterns, rules)
    return tuple(sorted(tests, key=lambda test: (test.adjusted, test.p, test.arm, test.pattern or "")))


def case_differences(rows: Sequence[CaseComparison], measure: str | None) -> list[Difference]:
    """After minus before of each case, in the share of passed fields or in `measure`.

    Raises ConfigError where a case has no such measure on both sides.
    """
    if measure is None:
        return [row.change for row in rows]
    for row in rows:
        if measure not in row.measures:
            raise ConfigError(f"{row.case} has no measure {measure!r} on both sides{nearest(measure, row.measures)}")
    return [row.measures[measure][1] - row.measures[measure][0] for row in rows]


def _overall(arm: ArmComparison, rules: Rules) -> TestResult:
    rows = arm.compared
    flips = sum(row.broken for row in rows), sum(row.fixed for row in rows)
    changes = case_differences(rows, rules.measure)
    test = _test(arm.label, None, flips, tempered(changes))
    return test if sum(changes) < 0 else replace(test, p=1.0)  # a gain on the whole is no drop, however it is spread


def _by_pattern(arm: ArmComparison) -> list[TestResult]:
    return [_test(arm.label, row.pattern, (row.broken, row.fixed), row.changes) for row in arm.patterns if row.fields]


def _test(arm: str, pattern: str | None, flips: tuple[int, int], changes: Sequence[Difference]) -> TestResult:
    broken, fixed = flips
    result = sign_flip(changes)
    return TestResult(
        arm=arm,
        pattern=pattern,
        broken=broken,
        fixed=fixed,
        p=result.p,
        smallest=result.smallest,
        mcnemar=mcnemar(broken, fixed),
    )


def _adjust(overall: list[TestResult], patterns: list[TestResult], rules: Rules) -> list[TestResult]:
    """Weighted Holm over the tests that can be significant at all; the others keep 1.0.

    Which ones can depends on how many cases changed, not on the direction, so leaving them out costs no error control.
    The reserve takes part as a test that nothing makes significant.
    """
    budget = 1 - rules.reserve
    general = [test for test in overall if test.smallest <= rules.alpha * budget]
    share = rules.overall_share if general else 0.0
    kept = attainable([test.smallest for test in patterns], rules.alpha * budget * (1 - share))
    family = [*general, *(patterns[index] for index in kept)]
    weights = [budget * share / len(general) for _ in general] + [budget * (1 - share) / len(kept) for _ in kept]
    p_values = [test.p for test in family]
    if rules.reserve:
        p_values, weights = [*p_values, 1.0], [*weights, rules.reserve]
    adjusted = holm(p_values, weights)
    done = {id(test): value for test, value in zip(family, adjusted, strict=False)}
    return [replace(test, adjusted=done.get(id(test), 1.0)) for test in (*overall, *patterns)]
