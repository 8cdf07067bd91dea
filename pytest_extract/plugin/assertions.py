"""What pytest says when `output == Gold(...)` fails in an assert."""

from __future__ import annotations

from pytest_extract.testing import Gold, diff_of_score


def compare_lines(op: str, left: object, right: object, verbosity: int) -> list[str] | None:
    """Return the diff of an output with gold; None where no gold is compared, or no equality."""
    gold, output = (right, left) if isinstance(right, Gold) else (left, right)
    if op != "==" or not isinstance(gold, Gold):
        return None
    score, breaches = gold.check(output)
    return ["the extraction is not equal to gold", *diff_of_score(score, breaches, output, verbosity=verbosity)]
