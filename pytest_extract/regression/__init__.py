"""The regression gate: results become snapshots, two snapshots are compared, and the gate decides on the comparison.

Data flows one way: results -> `snapshots` (-> `baseline`) -> `compare` -> `facts` -> `gate` -> `report.run_report`.
Nothing here runs a case or imports pytest. Only `baseline` touches files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_extract.lazy import lazy_names

if TYPE_CHECKING:
    from pytest_extract.regression.baseline import Baseline as Baseline
    from pytest_extract.regression.baseline import read_baseline as read_baseline
    from pytest_extract.regression.compare import Change as Change
    from pytest_extract.regression.compare import Comparison as Comparison
    from pytest_extract.regression.facts import Rules as Rules
    from pytest_extract.regression.gate import Answer as Answer
    from pytest_extract.regression.gate import GateDecision as GateDecision
    from pytest_extract.regression.gate import evaluate_gate as evaluate_gate
    from pytest_extract.regression.snapshots import Snapshot as Snapshot
    from pytest_extract.regression.snapshots import snapshot as snapshot
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "regression.baseline": "Baseline read_baseline",
            "regression.compare": "Change Comparison",
            "regression.gate": "Answer GateDecision evaluate_gate",
            "regression.facts": "Rules",
            "regression.snapshots": "Snapshot snapshot",
        },
    )
