"""The simulation report in short: `tests/benchmarks/gate_power.py` draws what it says, and its tables come out."""

from __future__ import annotations

import pytest

pytest.importorskip("scipy")

from tests.benchmarks import gate_power


@pytest.fixture(autouse=True)
def _fewer_arrangements(monkeypatch):
    monkeypatch.setattr("pytest_extract.core.stats.LANES", 1_000)


@pytest.mark.parametrize("kind", gate_power.KINDS.values(), ids=gate_power.KINDS)
def test_without_a_change_few_suites_are_called_worse(kind):
    found, _ = gate_power.rates(kind, gate_power.NOTHING, cases=20, fields=5, runs=(1, 1), suites=30, seed=3)
    assert found[0] <= 17  # five of thirty: at 5 % this comes up in 2 of 100 tests
    assert found[1] <= 17  # with its confirmation


def test_a_document_type_that_dies_is_found_by_the_runs_of_a_baseline():
    kind, effect = gate_power.KINDS["hard and easy cases"], gate_power.EFFECTS["document type dead"]
    five, _ = gate_power.rates(kind, effect, cases=30, fields=5, runs=(5, 1), suites=15, seed=3)
    assert five[0] >= 60
    assert five[0] > five[2]


def test_a_document_type_that_dies_is_found_by_fresh_runs_for_some_forty_calls():
    kind, effect = gate_power.KINDS["hard and easy cases"], gate_power.EFFECTS["document type dead"]
    one, calls = gate_power.rates(kind, effect, cases=50, fields=10, runs=(1, 1), suites=15, seed=3)
    assert one[1] >= 93
    assert one[1] >= one[0]
    assert 5 <= calls <= 40


def test_the_comparison_that_is_simulated_is_the_one_that_the_gate_makes():
    import numpy as np

    from pytest_extract.regression.compare import compare
    from pytest_extract.regression.facts import run_tests
    from pytest_extract.regression.snapshots import CaseKey, FailingField
    from tests.regression.simulate import state

    source = np.random.default_rng(5)
    sides = source.random((2, 3, 12, 4)) < 0.8
    made = []
    for side in sides:
        run = {}
        for number in range(12):
            failing = {
                f"f{field}": FailingField(pattern=f"f{field}", runs=tuple(map(bool, side[:, number, field])))
                for field in range(4)
                if not side[:, number, field].all()
            }
            run[CaseKey(f"s::{number:02}", "")] = state(str(number), 4, failing, runs=3)
        made.append(run)
    direct = run_tests(gate_power.comparison_of(*sides), gate_power.RULES).results
    through = run_tests(compare(*made), gate_power.RULES).results
    assert {(test.subject, test.name): (test.p, test.adjusted) for test in direct} == {
        (test.subject, test.name): (test.p, test.adjusted) for test in through
    }


def test_the_report_prints_its_tables(capsys, monkeypatch):
    monkeypatch.setattr(gate_power, "KINDS", {"hard and easy cases": gate_power.Kind(rate=0.8)})
    gate_power.no_change(2, 1, ((5, 3), (6, 3)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "| no change | gate | confirmed | sign test | mean -2 | McNemar | case perm. |"
    assert lines[-1].startswith("| hard and easy cases | ")


def test_the_answers_are_counted_for_every_fall(capsys, monkeypatch):
    monkeypatch.setattr(gate_power, "SUITES", {"no noise": gate_power.Kind(rate=1.0)})
    gate_power.every_answer(2, 1, (20,))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("| suite | cases | runs | stated | none | half of the stated | as stated | ")
    assert lines[-1].endswith(" | 100/0/0 | 0/0/100 |") is False
    assert lines[-1].endswith(" | 0/0/100 |")


def test_a_table_replaces_the_one_in_the_manual(tmp_path):
    manual = tmp_path / "page.md"
    manual.write_text("# Page\n<!-- table: changes -->\nold\n<!-- end of table -->\nend\n")
    gate_power.write_into_manual("power", "\n| new |\n", manual)
    assert manual.read_text() == "# Page\n<!-- table: changes -->\n| new |\n<!-- end of table -->\nend\n"
    with pytest.raises(SystemExit, match="no place for the table 'answers'"):
        gate_power.write_into_manual("answers", "", manual)


def test_the_manual_has_a_place_for_every_table():
    text = gate_power.MANUAL.read_text(encoding="utf-8")
    assert all(text.count(f"<!-- table: {name} -->\n| ") == 1 for name in gate_power.TABLES.values())
