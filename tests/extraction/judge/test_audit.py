"""Agreement of a judge with people: exact numbers, and the command that prints them."""

from __future__ import annotations

import pytest

from pytest_extract.core.results import JudgeAnswer
from pytest_extract.extraction.caching_judge import build_judge, cohen_kappa
from tests.extraction.judge.questions import equal


def labels(both_yes, judge_yes, person_yes, both_no):
    return (
        [(True, True)] * both_yes
        + [(True, False)] * judge_yes
        + [(False, True)] * person_yes
        + [(False, False)] * both_no
    )


KAPPAS = [
    (labels(20, 5, 10, 15), 0.4),  # observed 0.7, by chance 0.5
    (labels(45, 15, 25, 15), 0.13043478260869565),  # 0.6 and 0.54: (0.06 / 0.46)
    (labels(1, 0, 0, 1), 1.0),
    (labels(0, 1, 1, 0), -1.0),
    (labels(3, 0, 0, 0), None),
    ([], None),
    ([("a", "a"), ("b", "b"), ("c", "a")], 0.5),  # three labels: observed 2/3, by chance 3/9
]


@pytest.mark.parametrize(("pairs", "kappa"), KAPPAS)
def test_cohens_kappa(pairs, kappa):
    assert cohen_kappa(pairs) == (None if kappa is None else pytest.approx(kappa, abs=1e-12))


VERDICTS = """
- {gold: a1, extracted: b1, equal: true}
- {gold: a2, extracted: b2, equal: true}
- {gold: a3, extracted: b3, equal: false, by: anna, reason: other firm}
- {gold: a4, extracted: b4, equal: false}
- {gold: a5, extracted: b5, equal: true, instructions: loosely}
- {gold: never, extracted: asked, equal: true}
"""


def scored(question):
    return JudgeAnswer(0.2 if question.gold in {"a4", "other"} else 0.9, "so I think")


@pytest.fixture
def folder(tmp_path):
    def judge(questions):
        return [scored(question) for question in questions]

    judge.identity = "openai/x"
    asked = [equal(f"a{n}", f"b{n}", "loosely" if n == 5 else "") for n in range(1, 6)]
    build_judge(user=judge, folder=tmp_path / "rec" / "judge")([*asked, equal("a5", "b5"), equal("other", "pair")])
    (tmp_path / "verdicts.yaml").write_text(VERDICTS)
    return tmp_path


def command(folder, *more):
    from pytest_extract.cli import main

    return main(["agree", str(folder / "verdicts.yaml"), "--recordings", str(folder / "rec"), *more])


def test_the_command_prints_agreement_kappa_and_differences(folder, capsys):
    assert command(folder) == 0
    assert capsys.readouterr().out.splitlines() == [
        "openai/x (prompt 1): 4 of 5 verdicts agree (80 %), Cohen's kappa 0.545",
        "  gold 'a3', extracted 'b3': judge 0.9 (so I think), anna 0 (other firm)",
        "1 of the people's verdicts are about pairs that no judge was asked about",
    ]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (["--min-agreement", "0.8"], 0),
        (["--min-agreement", "0.81"], 1),
        (["--min-kappa", "0.5"], 0),
        (["--min-kappa", "0.6"], 1),
        (["--recordings", "none"], 2),
    ],
)
def test_bounds_and_choices(folder, more, status, capsys):
    assert command(folder, *more) == status
    if status == 2:
        assert "nothing to compare" in capsys.readouterr().out


def test_golds_need_two_sets_and_a_schema(folder, capsys):
    assert command(folder, "--schema", "s.json") == 2
    assert "golds are compared by A, B and --schema SCHEMA" in capsys.readouterr().err


def test_undefined_kappa_is_said(folder, capsys):
    (folder / "verdicts.yaml").write_text("- {gold: a1, extracted: b1, equal: true}")
    assert command(folder, "--min-kappa", "0.9") == 0
    assert "kappa undefined (all verdicts alike)" in capsys.readouterr().out
