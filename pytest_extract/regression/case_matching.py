"""Which arm is compared with which, and which case with which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pytest_extract.regression.snapshot import CaseState, Snapshot


def match_arms(before: Snapshot, after: Snapshot) -> list[tuple[str | None, str | None]]:
    """Pair the arms of two snapshots by label; a single arm on each side is a pair whatever the labels are.

    An arm without a partner stands alone: all of its cases are new, or gone.
    """
    old = sorted({key.arm for key in before})
    new = sorted({key.arm for key in after})
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    shared = [(arm, arm) for arm in old if arm in new]
    gone = [(arm, None) for arm in old if arm not in new]
    return [*shared, *gone, *((None, arm) for arm in new if arm not in old)]


def match_cases(
    before: Mapping[str, CaseState], after: Mapping[str, CaseState]
) -> list[tuple[str, CaseState | None, CaseState | None]]:
    """Pair the cases of one arm by `file::id`; where no file is the same on both sides, by ids that are unique.

    The second way serves runs that were started from different folders.
    """
    if before and after and before.keys().isdisjoint(after):
        before, after = _by_id(before, after)
    names = [*after, *(case for case in before if case not in after)]
    return [(case, before.get(case), after.get(case)) for case in sorted(names)]


def _by_id(
    before: Mapping[str, CaseState], after: Mapping[str, CaseState]
) -> tuple[Mapping[str, CaseState], Mapping[str, CaseState]]:
    counts = [Counter(state.case_id for state in side.values()) for side in (before, after)]
    names = {state.case_id: case for case, state in after.items() if all(count[state.case_id] == 1 for count in counts)}
    return {names.get(state.case_id, case): state for case, state in before.items()}, after
