"""A case that has ended takes hardly more memory than any test of pytest's."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import GOLD, SCHEMA

pytestmark = pytest.mark.slow

CASES, FIRST = 140, 40
MOST_BYTES = 3 * 1024
CONFTEST = f"""
import gc, tracemalloc
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(case):
        return {{**case.gold, "total": 1.0}} if int(case.id) % 10 == 3 else case.gold
    return extract

class Bare(pytest.File):
    obj = None
    def collect(self):
        return [Item.from_parent(self, name=str(index)) for index in range({CASES})]

class Item(pytest.Item):
    def runtest(self):
        if int(self.name) % 10 == 3:
            raise ValueError
    def repr_failure(self, excinfo, style=None):
        return "x" * 100

def pytest_collect_file(file_path, parent):
    return Bare.from_parent(parent, path=file_path) if file_path.suffix == ".bare" else None

def pytest_collection_finish():
    tracemalloc.start()

TRACED, ENDED = {{}}, set()

def pytest_runtest_logreport(report):
    if report.when == "teardown":
        ENDED.add(report.nodeid)
        if len(ENDED) in ({FIRST}, {CASES}):
            gc.collect()
            TRACED[len(ENDED)] = tracemalloc.get_traced_memory()[0]

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        Path("growth.txt").write_text(str((TRACED[{CASES}] - TRACED[{FIRST}]) / ({CASES} - {FIRST})))
"""


def growth(pytester: pytest.Pytester, file: str, *args: str) -> float:
    """Bytes that each test leaves behind in the only process, or in xdist's controller."""
    plugins = [f"-pno:{name}" for name in ("rerunfailures", "cacheprovider", "hypothesispytest")]
    pytester.runpytest_subprocess(file, "--tb=line", *plugins, *args).assert_outcomes(passed=126, failed=14)
    return float((pytester.path / "growth.txt").read_text())


@pytest.mark.parametrize("args", [["--extract-report=r.jsonl"], ["-n1"]], ids=["plain", "n1"])
def test_a_case_that_has_ended_takes_little_more_than_a_bare_item(pytester: pytest.Pytester, args: list[str]) -> None:
    pytester.makeconftest(CONFTEST)
    (pytester.path / "a.bare").touch()
    cases = [{"id": str(index), "text": str(index), "gold": {**GOLD, "total": index}} for index in range(CASES)]
    (pytester.path / "a.extract.yaml").write_text(json.dumps({"defaults": {"schema": SCHEMA}, "cases": cases}))
    bare = growth(pytester, "a.bare", *(arg for arg in args if arg == "-n1"))
    assert growth(pytester, "a.extract.yaml", *args) - bare <= MOST_BYTES
