"""The simulation report in short: `tests/benchmarks/gate_power.py` draws what it says, and its tables come out."""

from __future__ import annotations

import pytest

pytest.importorskip("scipy")

import numpy as np

from pytest_extract.regression.compare import compare
from pytest_extract.regression.facts import run_tests
from tests.benchmarks import gate_power
from tests.regression.simulate import side_of


@pytest.fixture(autouse=True)
def _fewer_arrangements(monkeypatch):
    monkeypatch.setattr("pytest_extract.core.stats.LANES", 1_000)


@pytest.mark.parametrize("kind", gate_power.KINDS.values(), ids=gate_power.KINDS)
def test_without_a_change_few_suites_are_called_worse(kind):
    found, _ = gate_power.rates(kind, gate_power.NOTHING, cases=20, fields=5, runs=(1, 1), suites=30, seed=3)
    assert max(found[0], found[1]) <= 17  # five of thirty, with its confirmation too: at 5 % this comes up in 2 of 100


def test_a_document_type_that_dies_is_found_by_the_runs_of_a_baseline_or_by_some_forty_fresh_calls():
    kind, effect = gate_power.KINDS["hard and easy cases"], gate_power.EFFECTS["document type dead"]
    five, _ = gate_power.rates(kind, effect, cases=30, fields=5, runs=(5, 1), suites=15, seed=3)
    assert five[0] >= 60
    assert five[0] > five[2]
    one, calls = gate_power.rates(kind, effect, cases=50, fields=10, runs=(1, 1), suites=15, seed=3)
    assert one[1] >= max(93, one[0])
    assert 5 <= calls <= 40


def test_the_comparison_that_is_simulated_is_the_one_that_the_gate_makes():
    sides = np.random.default_rng(5).random((2, 3, 12, 4)) < 0.8

    def run(side):
        cases = ({f"f{field}": side[:, number, field] for field in range(4)} for number in range(12))
        return side_of(cases, fields=4, runs=3)

    direct, through = (
        {(test.subject, test.name): (test.p, test.adjusted) for test in run_tests(made, gate_power.RULES).results}
        for made in (gate_power.comparison_of(*sides), compare(*map(run, sides)))
    )
    assert direct == through


def test_the_tables_are_told(monkeypatch):
    monkeypatch.setattr(gate_power, "KINDS", {"hard and easy cases": gate_power.Kind(rate=0.8)})
    monkeypatch.setattr(gate_power, "SUITES", {"no noise": gate_power.Kind(rate=1.0)})
    head, row = gate_power.no_change(2, 1, ((5, 3), (6, 3)))
    assert head.splitlines()[0] == "| no change | gate | confirmed | sign test | mean -2 | McNemar | case perm. |"
    assert row.startswith("| hard and easy cases | ")
    head, *rows = gate_power.every_answer(2, 1, (20,))
    assert head.startswith("| suite | cases | runs | stated | none | half of the stated | as stated | ")
    assert [line.split(" | ")[2] for line in rows] == ["1 v 1", "3 v 1"]
    assert all(line.split(" | ")[4] == "100/0/0" and line.endswith(" | 0/0/100 |") for line in rows)


def test_a_table_replaces_the_one_in_the_manual(tmp_path):
    manual = tmp_path / "page.md"
    manual.write_text("# Page\n<!-- table: changes -->\nold\n<!-- end of table -->\nend\n")
    gate_power.write_into_manual("power", "| new |", manual)
    assert manual.read_text() == "# Page\n<!-- table: changes -->\n| new |\n<!-- end of table -->\nend\n"
    with pytest.raises(SystemExit, match="no place for the table 'answers'"):
        gate_power.write_into_manual("answers", "", manual)
    text = gate_power.MANUAL.read_text(encoding="utf-8")
    assert all(text.count(f"<!-- table: {name} -->\n| ") == 1 for name in gate_power.TABLES.values())
