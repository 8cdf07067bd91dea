"""Field patterns tallied over cases, and their order."""

from __future__ import annotations

from collections import Counter

from pytest_extract.report.summary import PatternCounts, worst_patterns


def test_worst_is_what_lost_most_then_what_failed_in_the_largest_share():
    found = {
        "rare": PatternCounts(statuses=Counter(mismatch=1, match=11), lost=1.0),
        "a good one": PatternCounts(statuses=Counter(match=12)),
        "often": PatternCounts(statuses=Counter(omission=1, match=3), lost=1.0),
        "nearly": PatternCounts(statuses=Counter(mismatch=4), lost=0.2),
        "most": PatternCounts(statuses=Counter(hallucination=2, match=30), lost=2.0),
        "as often": PatternCounts(statuses=Counter(mismatch=1, match=3), lost=1.0),
    }
    assert [name for name, _ in worst_patterns(found)] == ["most", "as often", "often", "rare", "nearly"]
