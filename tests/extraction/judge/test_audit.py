"""Agreement of a judge with people: exact numbers, and the command that prints them."""

from __future__ import annotations

import pytest

from pytest_extract.cli import main
from pytest_extract.core.results import JudgeAnswer
from pytest_extract.extraction.caching_judge import Agreement, JudgedPair, Override, build_judge
from tests.extraction.judge.questions import equal

YES, JUDGE_ALONE, PERSON_ALONE, NO = (1, 1), (1, 0), (0, 1), (0, 0)


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        ([YES] * 20 + [JUDGE_ALONE] * 5 + [PERSON_ALONE] * 10 + [NO] * 15, 0.4),  # observed 0.7, by chance 0.5
        ([YES] * 45 + [JUDGE_ALONE] * 15 + [PERSON_ALONE] * 25 + [NO] * 15, 0.06 / 0.46),  # 0.6 and 0.54
        ([YES, NO], 1.0),
        ([JUDGE_ALONE, PERSON_ALONE], -1.0),
        ([YES] * 3, None),
    ],
)
def test_cohens_kappa(pairs, kappa):
    judged = [JudgedPair(JudgeAnswer(judge), Override(gold="", extracted="", score=person)) for judge, person in pairs]
    assert Agreement("m", 1, judged).kappa == (None if kappa is None else pytest.approx(kappa, abs=1e-12))


VERDICTS = """
- {gold: a1, extracted: b1, equal: true}
- {gold: a2, extracted: b2, equal: true}
- {gold: a3, extracted: b3, equal: false, by: anna, reason: other firm}
- {gold: a4, extracted: b4, equal: false}
- {gold: a5, extracted: b5, equal: true, instructions: loosely}
- {gold: never, extracted: asked, equal: true}
"""


@pytest.fixture
def agree(tmp_path, capsys):
    """Return what runs the command on verdicts and what a judge has answered: its status, and what it printed."""

    def judge(questions):
        return [JudgeAnswer(0.2 if question.gold in {"a4", "other"} else 0.9, "so I think") for question in questions]

    judge.identity = "openai/x"
    asked = [equal(f"a{n}", f"b{n}", "loosely" if n == 5 else "") for n in range(1, 6)]
    build_judge(user=judge, folder=tmp_path / "rec" / "judge")([*asked, equal("a5", "b5"), equal("other", "pair")])

    def run(*more, verdicts=VERDICTS):
        (tmp_path / "verdicts.yaml").write_text(verdicts)
        status = main(["agree", str(tmp_path / "verdicts.yaml"), "--recordings", str(tmp_path / "rec"), *more])
        return status, "".join(capsys.readouterr())

    return run


def test_the_command_prints_agreement_kappa_and_differences(agree):
    status, printed = agree()
    assert status == 0
    assert printed.splitlines() == [
        "openai/x (prompt 1): 4 of 5 verdicts agree (80 %), Cohen's kappa 0.545",
        "  gold 'a3', extracted 'b3': judge 0.9 (so I think), anna 0 (other firm)",
        "1 of the people's verdicts are about pairs that no judge was asked about",
    ]


@pytest.mark.parametrize(
    ("more", "status", "told"),
    [
        (["--min-kappa", "0.5"], 0, ""),
        (["--min-kappa", "0.6"], 1, ""),
        (["--recordings", "none"], 2, "nothing to compare"),
        (["--schema", "s.json"], 2, "golds are compared by A, B and --schema SCHEMA"),
    ],
)
def test_bounds_and_choices(agree, more, status, told):
    found, printed = agree(*more)
    assert found == status
    assert told in printed


def test_undefined_kappa_is_said(agree):
    status, printed = agree("--min-kappa", "0.9", verdicts="- {gold: a1, extracted: b1, equal: true}")
    assert status == 0
    assert "kappa undefined (all verdicts alike)" in printed
