"""--extract-model, --extract-prompt, --extract-mode: several of one are variants of a run."""

import csv

import pytest

from pytest_extract.regression.baseline import read_baseline
from tests.plugin.conftest import GREEN, plain_and_workers, results, shows, text_of

BY_MODEL = """
import json
import pytest

@pytest.fixture(scope="session")
def client(extract_model):
    print("\\nclient for", extract_model)
    yield extract_model
    print("\\nclosed", extract_model)

@pytest.fixture(scope="session")
def extractor(client, extract_model):
    print("\\nextractor for", extract_model)
    def extract(document, model):
        assert model == extract_model == client
        return document.text if model == "good/one" else {**json.loads(document.text), "total": 7}
    return extract
"""
MODELS = ("--extract-model=good/one", "--extract-model=bad")


@pytest.fixture(autouse=True)
def cases(pytester, write_case):
    pytester.makeconftest(BY_MODEL)
    write_case("a")
    write_case("b")


def ids(pytester, *args):
    result = pytester.runpytest("--collect-only", "-q", *args)
    return [line.removesuffix("]").partition(".extract.yaml::")[2] for line in result.outlines if "::" in line]


def test_every_case_runs_once_per_model_taking_turns(pytester, run):
    assert ids(pytester, MODELS[0]) == ["a[good/one", "b[good/one"]
    assert ids(pytester, *MODELS) == ["a[good/one", "a[bad", "b[good/one", "b[bad"]
    assert ids(pytester, *MODELS, "-k", "good") == ["a[good/one", "b[good/one"]
    assert ids(pytester, *MODELS, "a.extract.yaml::a") == ["a[good/one", "a[bad"]
    assert ids(pytester, *MODELS, "a.extract.yaml::a[bad]") == ["a[bad"]
    lines = [
        "4 cases: 2 passed, 2 failed; *",
        "  *cases *passed *failed *error *not run fields right *f1 *cost",
        "  bad *2 *0 *2 *0 *0 *66.7 % *",
        "  good/one *2 *2 *0 *0 *0 *100 % *1 *",
    ]
    result = run(*MODELS, "-s", passed=2, failed=2, lines=lines)
    for model in ("good/one", "bad"):  # an extractor of the session is made once per model and kept
        counts = [result.outlines.count(f"{verb} {model}") for verb in ("client for", "extractor for", "closed")]
        assert counts == [1, 1, 1]
    run(*MODELS, "-n2", passed=2, failed=2)


def test_fixtures_that_know_no_model_are_shared_by_all(run, write_extractor, add_to_conftest):
    write_extractor("return document.text", needs="costly, extract_model", fixture="")
    add_to_conftest("@pytest.fixture(scope='session')\ndef costly():\n    print('\\ncostly')")
    result = run("--extract-model=m", "--extract-model=n", "-s", passed=4)
    assert result.outlines.count("costly") == 1


def test_an_extractor_may_ask_for_its_model_later(write_fixture, run):
    name = "name = request.getfixturevalue('extract_model')"
    write_fixture(f"{name}\nreturn lambda document, model: document.text if model == name else '{{}}'", "request")
    run("--extract-model=m", "--extract-model=n", passed=4)


def test_the_nearest_conftest_wins_for_each_model(pytester, run, write_case):
    near = pytester.mkdir("near") / "conftest.py"
    near.write_text("import pytest\n\n@pytest.fixture(scope='session')\ndef client(client):\n    return client\n")
    write_case("near/a")
    run(*MODELS, "near", "b.extract.yaml", passed=2, failed=2)


def test_several_prompts_are_variants_of_their_own(pytester, run, write_extractor, write_files):
    body = 'assert prompt == extract_prompt.read_text()\nreturn document.text if prompt == "good" else "{}"'
    write_extractor(body, "document, prompt", needs="extract_prompt")
    write_files({"good.md": "good", "bad.md": "bad"})
    prompts = ["--extract-prompt=good.md", "--extract-prompt=bad.md"]
    assert ids(pytester, *prompts)[:2] == ["a[good.md", "a[bad.md"]
    assert ids(pytester, *prompts, "--extract-model=m")[0] == "a[m-good.md"
    run(*prompts, passed=2, failed=2)


def test_one_prompt_stands_in_place_of_the_case_s_own_and_leaves_its_id(run, write_case, write_extractor, write_files):
    write_extractor("return document.text if str(prompt) == 'new' else '{}'", "document, prompt")
    write_files({"old.md": "old", "new.md": "new"})
    write_case("a", prompt="old.md")
    run("-k", "a.extract", failed=1, deselected=1)
    run("--extract-prompt=new.md", "-v", passed=2, lines=["a.extract.yaml::a PASSED*", "b.extract.yaml::b PASSED*"])


MODES = ("--extract-mode=prompt", "--extract-mode=structured")


@pytest.fixture
def by_mode(write_extractor):
    """An extractor that is right in the mode `structured` only."""
    write_extractor("return document.text if extract_mode == 'structured' else json.dumps({})", needs="extract_mode")


@plain_and_workers
def test_each_mode_is_a_variant(pytester, run, by_mode, workers):
    result = run(*MODES, *workers, "-v", "--extract-report=r.jsonl", "--extract-report=r.csv", passed=2, failed=2)
    outcomes = {("prompt", "failed"), ("structured", "passed")}
    assert {(one.variant.mode, one.outcome) for one in results(pytester)} == outcomes
    rows = csv.DictReader(text_of(pytester, "r.csv").splitlines())
    assert {(row["mode"], row["outcome"]) for row in rows} == outcomes
    shows(result, "*a.extract.yaml::a?structured?*")


@pytest.mark.parametrize(("options", "outcome"), [([], "failed"), (["--extract-mode=structured"], "passed")])
def test_one_mode_is_no_part_of_the_variant(pytester, by_mode, options, outcome):
    pytester.runpytest(*options, "--extract-report=r.jsonl")
    one, _ = results(pytester)
    assert (one.variant.mode, one.nodeid, one.outcome) == (None, "a.extract.yaml::a", outcome)


def test_each_mode_has_its_recording(run, by_mode, calls):
    for record, made in (("once", 2), ("none", 0), ("once", 0)):  # neither has replaced the other
        run(*MODES, f"--extract-record={record}", passed=2, failed=2)
        assert calls() == made


def test_the_gate_and_a_baseline_keep_the_modes_apart(pytester, run, by_mode):
    run(*reversed(MODES), "--extract-gate=regression", lines=["*structured -> prompt*"])
    baseline = [*MODES, "--extract-baseline=b.json"]
    pytester.runpytest(*baseline, "--extract-gate=none", "--extract-update-baseline")
    stored = read_baseline(pytester.path / "b.json")
    assert {state.variant.mode for state in stored.cases.values()} == {"prompt", "structured"}
    run(*baseline, "--extract-gate=regression", status=GREEN)
