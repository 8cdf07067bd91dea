"""A/A as lines: how often the gate would have cried wolf. The unsteady fields stand with the repeats (`steadiness`)."""

from __future__ import annotations

from pytest_extract.regression.flakiness import AATest
from pytest_extract.report.lines import Line, Span, Style, line, plural, safe_prose
from pytest_extract.report.values import percent


def aa_test_lines(test: AATest) -> list[Line]:
    """Tell what judging each run by each other one gave."""
    style: Style = "bad" if test.rate > test.alpha else "good"
    rates = f"{percent(test.rate)}; stated {percent(test.alpha)}"
    told = f"{test.worse} of {test.comparisons} comparisons said worse ({rates})"
    lines = [line(Span("A/A: ", "head"), f"{plural(test.runs, 'run')} of the same: ", Span(told, style))]
    lines.append(
        line(f"{test.cannot_tell} could not tell; {plural(test.fields, 'field')} compared each time", indent=2)
    )
    lines += [line(safe_prose(reason), indent=2) for reason in test.reasons]
    count = len(test.flaky)
    told = f"{plural(count, 'unsteady field')}, listed above" if count else "every field came out the same in all runs"
    return [*lines, line(told, indent=2)]
