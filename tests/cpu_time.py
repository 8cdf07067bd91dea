"""CPU time and calls for tests that a work grows no faster than its input: of the work, not of the process around it."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from sys import setprofile


def cpu_seconds(work: Callable[[], object], *, calls: int = 3) -> float:
    """The least CPU time of some calls.

    The garbage collector rests: one collection walks over all that the tests of this process have left behind, which
    takes longer than most works that are measured. The least of several is without the noise of other processes.
    """
    times = []
    for _ in range(calls):
        gc.disable()
        try:
            started = time.process_time()
            work()
            times.append(time.process_time() - started)
        finally:
            gc.enable()
    return min(times)


def calls_of(work: Callable[[], object]) -> int:
    """Count the calls of Python functions that a work makes."""
    counted = Counter()
    setprofile(lambda _frame, event, _arg: counted.update([event]))
    try:
        work()
    finally:
        setprofile(None)
    return counted["call"]
