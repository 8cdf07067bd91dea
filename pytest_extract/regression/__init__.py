"""The regression gate: results become snapshots, two snapshots are compared, and the gate decides on the comparison.

Data flows one way: results -> `snapshots` (-> `baseline`) -> `compare` -> `facts` -> `gate` -> `report.run_report`.
Nothing here runs a case or imports pytest. Only `baseline` touches files.
"""

from pytest_extract.regression.baseline import Baseline, read_baseline
from pytest_extract.regression.compare import Change, Comparison
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import Answer, GateDecision, evaluate_gate
from pytest_extract.regression.snapshots import Snapshot, snapshot

__all__ = [
    "Answer",
    "Baseline",
    "Change",
    "Comparison",
    "GateDecision",
    "Rules",
    "Snapshot",
    "evaluate_gate",
    "read_baseline",
    "snapshot",
]
