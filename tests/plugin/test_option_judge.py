from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import load_litellm
from tests.extraction.judge.questions import by_rule
from tests.llm_server import MODEL, LlmServer, answer, dripping, llm_server, server_error

__all__ = ["llm_server"]
try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)
pytestmark = pytest.mark.usefixtures("called_model", "echo")
Write = Callable[..., None]
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string", "evaluation_config": "string_semantic"} for name in ("a", "b")},
}
GOLD = {"a": "Gold value", "b": "car"}
SAME_LETTERS = {"a": "GOLD  value", "b": "Car"}
OTHER = {"a": "gold value!", "b": "automobile"}

PROJECT_JUDGE = """
import pytest

@pytest.fixture
def extractor():
    return lambda document: document.text

@pytest.fixture(scope="session")
def extract_judge():
    def judge(questions):
        with open("asked", "a") as log:
            log.writelines(f"{question.path}\\n" for question in questions)
        return [1.0 if question.extracted == "automobile" else 0.0 for question in questions]
    return judge
"""


@pytest.fixture
def judged(write_case: Write) -> Callable[..., None]:
    return lambda output, **keys: write_case("acme", output, schema=SCHEMA, gold=GOLD, **keys)


def test_values_equal_after_folding_need_no_judge(pytester: pytest.Pytester, judged: Write) -> None:
    judged(SAME_LETTERS)
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_comparison_that_needs_a_judge_is_an_error_without_one(pytester: pytest.Pytester, judged: Write) -> None:
    judged(OTHER)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "BROKEN: *",
            "  no judge for 2 comparisons: a, b",
            "1 case: 1 broken",
            "broken: 1 case: no judge for semantic comparisons: give*",
            "BROKEN acme.extract.yaml::acme - no judge for 2 comparisons: a, b",
        ]
    )
    result.stdout.no_fnmatch_line("*judge_error*")


@pytest.mark.parametrize("args", [[], ["-v"], ["--tb=short"], ["-n2"]], ids=["plain", "v", "short", "workers"])
def test_a_missing_judge_is_said_once_a_session(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    for number in range(4):
        write_case(f"c{number}", OTHER, schema=SCHEMA, gold=GOLD)
    text = pytester.runpytest(*args, "--extract-report=report.md", "--extract-report=report.html").stdout.str()
    flat = " ".join(text.split())
    assert "broken: 4 cases: no judge for semantic comparisons" in flat
    assert flat.count("--extract-judge-model=PROVIDER/NAME") == 1
    assert flat.count("--extract-judge=exact or fuzzy") == 1
    markdown = " ".join((pytester.path / "report.md").read_text(encoding="utf-8").split())
    assert markdown.count("broken: 4 cases: no judge for semantic comparisons") == 1
    assert "broken: 4 cases: no judge for semantic comparisons" in (pytester.path / "report.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("mode", "output", "outcome"),
    [
        pytest.param("exact", SAME_LETTERS, "passed", id="exact-same"),
        pytest.param("exact", OTHER, "failed", id="exact-other"),
        pytest.param("fuzzy", {"a": "Gold values", "b": "car"}, "passed", id="fuzzy-near"),
        pytest.param("fuzzy", OTHER, "failed", id="fuzzy-other"),
    ],
)
def test_deciding_without_a_model(
    pytester: pytest.Pytester, judged: Write, mode: str, output: object, outcome: str
) -> None:
    judged(output)
    result = pytester.runpytest(f"--extract-judge={mode}")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.no_fnmatch_line("*broken*")


def test_the_project_s_own_judge(pytester: pytest.Pytester, judged: Write) -> None:
    pytester.makeconftest(PROJECT_JUDGE)
    judged(OTHER)
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 of 2 fields passed", "  a *string_semantic* mismatch *"])
    assert sorted((pytester.path / "asked").read_text(encoding="utf-8").split()) == ["a", "b"]


def test_a_judge_that_skips_skips_the_cases_that_are_judged_ahead(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        PROJECT_JUDGE.replace("@pytest.fixture\n", '@pytest.fixture(scope="session")\n').replace(
            "with open", 'pytest.skip("no judge here")\n        with open'
        )
    )
    for number in range(4):
        write_case(f"c{number}", OTHER, schema=SCHEMA, gold={"a": f"Gold {number}", "b": f"car {number}"})
    pytester.runpytest_subprocess(timeout=60).assert_outcomes(skipped=4)


@pytest.mark.parametrize("record", ["off", "once", "all"])
def test_a_question_of_several_cases_is_asked_once_in_a_run_with_workers(
    pytester: pytest.Pytester, write_case: Write, record: str
) -> None:
    pytester.makeconftest(PROJECT_JUDGE)
    for number in range(6):
        write_case(f"c{number}", OTHER, schema=SCHEMA, gold=GOLD, question=f"{number}?")
    for runs in (1, 2):
        result = pytester.runpytest("-n2", f"--extract-record={record}")
        result.assert_outcomes(failed=6)
        asked = (pytester.path / "asked").read_text(encoding="utf-8").split()
        assert sorted(asked) == sorted(["a", "b"] * (runs if record == "all" else 1))


@pytest.mark.parametrize("taken", [".pytest_cache", ".pytest_cache/d/extract-judge"])
@pytest.mark.filterwarnings("ignore::pytest.PytestCacheWarning")
def test_a_cache_that_cannot_be_written_is_done_without(pytester: pytest.Pytester, judged: Write, taken: str) -> None:
    pytester.makeconftest(PROJECT_JUDGE)
    judged({**OTHER, "a": "Gold value"})
    (pytester.path / taken).parent.mkdir(parents=True, exist_ok=True)
    (pytester.path / taken).write_text("a file in the place of the folder", encoding="utf-8")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_answers_that_were_to_be_recorded_and_are_not_are_told(pytester: pytest.Pytester, judged: Write) -> None:
    pytester.makeconftest(PROJECT_JUDGE)
    judged({**OTHER, "a": "Gold value"})
    (pytester.path / "extract-recordings").mkdir()
    (pytester.path / "extract-recordings" / "judge").write_text("a file in the place of the folder", encoding="utf-8")
    result = pytester.runpytest("--extract-record=once")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not recorded: 1 judge answer; *judge cannot be written: *"])


def test_a_model_judges_once_and_its_answers_are_kept(
    pytester: pytest.Pytester, judged: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = by_rule
    judged(OTHER)
    result = pytester.runpytest(f"--extract-judge-model={MODEL}")
    result.stdout.fnmatch_lines(["judge: 1 call; tokens: *; cost: *"])
    assert len(llm_server.bodies) == 1
    again = pytester.runpytest(f"--extract-judge-model={MODEL}")
    assert again.parseoutcomes() == result.parseoutcomes()
    assert len(llm_server.bodies) == 1


def test_what_is_judged_ahead_is_counted_too(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    """Calls of coming cases, and their judging, go on between two cases as well."""
    llm_server.otherwise = by_rule
    for number in range(8):
        write_case(f"case{number}", OTHER, schema=SCHEMA, gold={**GOLD, "a": f"Gold {number}"})
    result = pytester.runpytest(f"--extract-judge-model={MODEL}", "--extract-concurrency=4")
    assert len(llm_server.bodies) == 8
    result.stdout.fnmatch_lines(["judge: 8 calls; tokens: *; cost: *"])


def test_answers_stand_beside_the_recordings_when_the_run_records(
    pytester: pytest.Pytester, judged: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = by_rule
    judged(OTHER)
    first = pytester.runpytest(f"--extract-judge-model={MODEL}", "--extract-record=once")
    assert list((pytester.path / "extract-recordings" / "judge").rglob("*.json"))
    second = pytester.runpytest(f"--extract-judge-model={MODEL}", "--extract-record=none")
    assert second.parseoutcomes() == first.parseoutcomes()
    assert len(llm_server.bodies) == 1


def test_a_judge_that_is_down_breaks_the_case(pytester: pytest.Pytester, judged: Write, llm_server: LlmServer) -> None:
    llm_server.otherwise = server_error(400)
    judged(OTHER)
    result = pytester.runpytest(f"--extract-judge-model={MODEL}", "--extract-report=r.jsonl")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  a, b: the judge could not be asked: *", "1 case: 1 broken"])
    line = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))
    assert line["outcome"] == "broken"


def write_verdicts(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    verdicts = [{"gold": gold, "extracted": OTHER[name], "equal": True} for name, gold in GOLD.items()]
    (folder / "verdicts.yaml").write_text(json.dumps(verdicts), encoding="utf-8")


@pytest.mark.parametrize("folder", ["extract-recordings", "."])
def test_people_s_verdicts_win(pytester: pytest.Pytester, judged: Write, llm_server: LlmServer, folder: str) -> None:
    llm_server.otherwise = by_rule
    write_verdicts(pytester.path / folder)
    judged(OTHER)
    pytester.runpytest(f"--extract-judge-model={MODEL}").assert_outcomes(passed=1)
    assert llm_server.bodies == []


def test_people_s_verdicts_stand_in_one_place(pytester: pytest.Pytester, judged: Write) -> None:
    for folder in ("extract-recordings", "."):
        write_verdicts(pytester.path / folder)
    judged(OTHER)
    result = pytester.runpytest(f"--extract-judge-model={MODEL}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there are people's verdicts in *verdicts.yaml and in *verdicts.yaml; keep one file"])


NAMED = """
import pytest
from pytest_extract import Verdict, extend

@extend.judge()
{kind} clinical(questions):
    print("clinical was asked about", *(q.path for q in questions))
    return [Verdict(1.0, "the same drug") for _ in questions]

@pytest.fixture(scope="session")
def extract_judge():
    return lambda questions: [Verdict(0.0, "not for me") for _ in questions]
"""


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_field_names_a_judge_of_the_project(pytester: pytest.Pytester, write_case: Write, kind: str) -> None:
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + NAMED.format(kind=kind))
    own = {"evaluation_config": {"metric_id": "string_semantic", "params": {"judge": "clinical"}}}
    schema = {"type": "object", "properties": {"a": own, "b": {"evaluation_config": "string_semantic"}}}
    write_case("acme", OTHER, schema=schema, gold=GOLD, thresholds={"pass_rate": 0.5})
    result = pytester.runpytest("-s", "--extract-report=r.jsonl")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*clinical was asked about a"])
    line = json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    reasons = {field["path"]: field["reason"] for field in line["attempts"][0]["score"]["fields"]}
    assert reasons == {"a": "the same drug", "b": "not for me"}
    again = pytester.runpytest("-s")
    again.assert_outcomes(passed=1)
    again.stdout.no_fnmatch_line("*was asked*")


def test_a_judge_that_nobody_brings_along_is_a_mistake_in_the_schema(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text() + NAMED.format(kind="def"))
    field = {"evaluation_config": {"metric_id": "string_semantic", "params": {"judge": "clinic"}}}
    write_case("acme", OTHER, schema={"type": "object", "properties": {"a": field}}, gold=GOLD)
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no judge 'clinic'; did you mean 'clinical'?*"])


@pytest.mark.slow
def test_a_slow_attempt_of_the_judge_ends_after_extract_timeout(
    pytester: pytest.Pytester, judged: Write, llm_server: LlmServer
) -> None:
    pytester.makeini("[pytest]\nextract_timeout = 2.5\n")
    llm_server.say(dripping(0.5, answer("{}")))
    llm_server.otherwise = by_rule
    judged(OTHER)
    result = pytester.runpytest(f"--extract-judge-model={MODEL}")
    assert len(llm_server.requests) == 2
    assert result.duration < 60, "the first answer takes minutes"
