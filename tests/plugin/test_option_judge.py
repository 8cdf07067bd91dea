"""--extract-judge, --extract-judge-model, and judges of the project."""

import json

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import load_litellm
from tests.extraction.judge.questions import by_rule
from tests.llm_server import MODEL, LlmServer, answer, dripping, llm_server, server_error
from tests.plugin.conftest import GREEN, RED, results, text_of

__all__ = ["llm_server"]
try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)
pytestmark = pytest.mark.usefixtures("called_model", "echo")
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string", "evaluation_config": "string_semantic"} for name in ("a", "b")},
}
GOLD = {"a": "Gold value", "b": "car"}
SAME_LETTERS = {"a": "GOLD  value", "b": "Car"}
OTHER = {"a": "gold value!", "b": "automobile"}
BY_MODEL = f"--extract-judge-model={MODEL}"
PROJECT_JUDGE = """
@pytest.fixture(scope="session")
def extract_judge():
    def judge(questions):
        with open("asked", "a") as log:
            log.writelines(f"{question.path}\\n" for question in questions)
        return [1.0 if question.extracted == "automobile" else 0.0 for question in questions]
    return judge
"""


@pytest.fixture
def judged(write_case):
    return lambda output, name="acme", **keys: write_case(name, output, **{"schema": SCHEMA, "gold": GOLD, **keys})


@pytest.mark.parametrize(
    ("mode", "output", "outcome"),
    [
        ("llm", SAME_LETTERS, "passed"),  # no question
        ("exact", SAME_LETTERS, "passed"),
        ("exact", OTHER, "failed"),
        ("fuzzy", {"a": "Gold values", "b": "car"}, "passed"),
        ("fuzzy", OTHER, "failed"),
    ],
)
def test_deciding_without_a_model(run, judged, mode, output, outcome):
    judged(output)
    run(f"--extract-judge={mode}", **{outcome: 1}).stdout.no_fnmatch_line("*error:*")


def test_a_comparison_that_needs_a_judge_is_an_error_without_one(run, judged):
    judged(OTHER)
    lines = [
        "ERROR: *",
        "  no judge for 2 comparisons: a, b",
        "1 case: 1 error",
        "error: 1 case: no judge for semantic comparisons: give*",
        "ERROR acme.extract.yaml::acme - no judge for 2 comparisons: a, b",
    ]
    run(failed=1, lines=lines).stdout.no_fnmatch_line("*judge_error*")


@pytest.mark.parametrize("args", [["-v"], ["--tb=short"], ["-n2"]], ids=["v", "short", "workers"])
def test_a_missing_judge_is_said_once_a_session(pytester, judged, args):
    for number in range(4):
        judged(OTHER, f"c{number}")
    text = pytester.runpytest(*args, "--extract-report=r.md", "--extract-report=r.html").stdout.str()
    broken = "error: 4 cases: no judge for semantic comparisons"
    flat, markdown = (" ".join(each.split()) for each in (text, text_of(pytester, "r.md")))
    assert flat.count("--extract-judge-model=PROVIDER/NAME") == flat.count("--extract-judge=exact or fuzzy") == 1
    assert flat.count(broken) == markdown.count(broken) == 1
    assert broken in text_of(pytester, "r.html")


def test_the_project_s_own_judge(pytester, run, judged, add_to_conftest):
    add_to_conftest(PROJECT_JUDGE)
    judged(OTHER)
    run(failed=1, lines=["*1 of 2 fields passed", "  a *string_semantic* mismatch *"])
    assert sorted(text_of(pytester, "asked").split()) == ["a", "b"]


def test_a_judge_that_skips_skips_the_cases_that_are_judged_ahead(pytester, judged, add_to_conftest):
    add_to_conftest(PROJECT_JUDGE.replace("with open", 'pytest.skip("no judge here")\n        with open'))
    for number in range(4):
        judged(OTHER, f"c{number}", gold={"a": f"Gold {number}", "b": f"car {number}"})
    pytester.runpytest_subprocess(timeout=60).assert_outcomes(skipped=4)


@pytest.mark.parametrize("record", ["off", "once", "all"])
def test_a_question_of_several_cases_is_asked_once_in_a_run_with_workers(
    pytester, run, judged, add_to_conftest, record
):
    add_to_conftest(PROJECT_JUDGE)
    for number in range(6):
        judged(OTHER, f"c{number}", question=f"{number}?")
    for runs in (1, 2):
        run("-n2", f"--extract-record={record}", failed=6)
        asked = text_of(pytester, "asked").split()
        assert sorted(asked) == sorted(["a", "b"] * (runs if record == "all" else 1))


@pytest.mark.parametrize(
    ("taken", "record", "lines"),
    [
        (".pytest_cache", "off", []),
        (".pytest_cache/d/extract-judge", "off", []),
        ("extract-recordings/judge", "once", ["an answer of the judge is not recorded: *judge cannot be written: *"]),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestCacheWarning")
def test_answers_that_cannot_be_kept_or_recorded(pytester, run, judged, add_to_conftest, taken, record, lines):
    add_to_conftest(PROJECT_JUDGE)
    judged({**OTHER, "a": "Gold value"})
    (pytester.path / taken).parent.mkdir(parents=True, exist_ok=True)
    (pytester.path / taken).write_text("a file in the place of the folder", encoding="utf-8")
    run(f"--extract-record={record}", passed=1, status=RED if lines else GREEN, lines=lines)


def test_a_model_judges_once_and_its_answers_are_kept(pytester, run, judged, llm_server: LlmServer):
    llm_server.otherwise = by_rule
    judged(OTHER)
    first = run(BY_MODEL, lines=["judge: 1 call; tokens: *; cost: *"])
    assert run(BY_MODEL).parseoutcomes() == first.parseoutcomes()
    assert len(llm_server.bodies) == 1
    run(BY_MODEL, "--extract-record=once")  # its answers stand beside the recordings
    assert len(llm_server.bodies) == 2
    assert list((pytester.path / "extract-recordings" / "judge").rglob("*.json"))
    assert run(BY_MODEL, "--extract-record=none").parseoutcomes() == first.parseoutcomes()
    assert len(llm_server.bodies) == 2


def test_what_is_judged_ahead_is_counted_too(run, judged, llm_server: LlmServer):
    """Calls of coming cases, and their judging, go on between two cases as well."""
    llm_server.otherwise = by_rule
    for number in range(8):
        judged(OTHER, f"c{number}", gold={**GOLD, "a": f"Gold {number}"})
    run(BY_MODEL, "--extract-concurrency=4", lines=["judge: 8 calls; tokens: *; cost: *"])
    assert len(llm_server.bodies) == 8


def test_a_judge_that_is_down_breaks_the_case(pytester, run, judged, llm_server: LlmServer):
    llm_server.otherwise = server_error(400)
    judged(OTHER)
    lines = ["  a, b: the judge could not be asked: *", "1 case: 1 error"]
    run(BY_MODEL, "--extract-report=r.jsonl", failed=1, lines=lines)
    assert [each.outcome for each in results(pytester)] == ["error"]


def test_people_s_verdicts_win_and_stand_in_one_place(pytester, run, judged, llm_server: LlmServer):
    llm_server.otherwise = by_rule
    verdicts = [{"gold": gold, "extracted": OTHER[name], "equal": True} for name, gold in GOLD.items()]
    judged(OTHER)
    beside, above = (pytester.path / folder / "verdicts.yaml" for folder in ("extract-recordings", "."))
    beside.parent.mkdir()
    beside.write_text(json.dumps(verdicts), encoding="utf-8")
    run(BY_MODEL, passed=1)
    above.write_text(json.dumps(verdicts), encoding="utf-8")
    both = "*there are people's verdicts in *verdicts.yaml and in *verdicts.yaml; keep one file"
    run(BY_MODEL, failed=1, lines=[both])
    beside.unlink()
    run(BY_MODEL, passed=1)
    assert llm_server.bodies == []


NAMED = """
from pytest_extract import Verdict, extend

@extend.judge()
{kind} clinical(questions):
    print("clinical was asked about", *(q.path for q in questions))
    return [Verdict(1.0, "the same drug") for _ in questions]

@pytest.fixture(scope="session")
def extract_judge():
    return lambda questions: [Verdict(0.0, "not for me") for _ in questions]
"""


def named_judge(name):
    return {"evaluation_config": {"metric_id": "string_semantic", "params": {"judge": name}}}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_field_names_a_judge_of_the_project(pytester, run, judged, add_to_conftest, kind):
    add_to_conftest(NAMED.format(kind=kind))
    properties = {"a": named_judge("clinical"), "b": {"evaluation_config": "string_semantic"}}
    judged(OTHER, schema={"type": "object", "properties": properties}, thresholds={"pass_rate": 0.5})
    run("-s", "--extract-report=r.jsonl", passed=1, lines=["*clinical was asked about a"])
    (one,) = results(pytester)
    reasons = {str(field.path): field.reason for field in one.attempts[0].score.fields}
    assert reasons == {"a": "the same drug", "b": "not for me"}
    run("-s", passed=1).stdout.no_fnmatch_line("*was asked*")
    judged(OTHER, schema={"type": "object", "properties": {"a": named_judge("clinic")}})
    run(errors=1, lines=["*no judge 'clinic'; did you mean 'clinical'?*"])


@pytest.mark.slow
def test_a_slow_attempt_of_the_judge_ends_after_extract_timeout(pytester, judged, llm_server: LlmServer):
    pytester.makeini("[pytest]\nextract_timeout = 2.5\n")
    llm_server.say(dripping(0.5, answer("{}")))
    llm_server.otherwise = by_rule
    judged(OTHER)
    result = pytester.runpytest(BY_MODEL)
    assert len(llm_server.requests) == 2
    assert result.duration < 60, "the first answer takes minutes"
