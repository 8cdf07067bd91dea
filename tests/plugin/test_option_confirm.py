"""--extract-confirm: the cases that fell run again on both sides, and what fresh runs show is in the verdict."""

import pytest

from tests.plugin.conftest import GREEN, RED, STOPPED, shows

EXTRACT = """
with (HERE / "log").open("a") as log:
    log.write(f"{case.id} {prompt.strip()}\\n")
gold = json.loads(document.text)
calls = (HERE / "log").read_text().split("\\n").count(f"{case.id} {prompt.strip()}")
wrong = json.loads((HERE / "wrong.json").read_text()).get(prompt.strip(), {})
if gold["n"] in wrong.get("down", []):
    raise ConnectionError("the model is down")
if gold["n"] in wrong.get("stop", []) and calls == 2:
    raise KeyboardInterrupt
fails = gold["n"] in wrong.get("always", []) or (gold["n"] in wrong.get("first", []) and calls == 1)
output = {name: None for name in gold} if fails else gold
return Extraction(json.dumps(output), cost_usd=0.01)
"""
NAMES = ["a", "b", "c"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, **{name: {"type": "string"} for name in NAMES}}}
UPDATE = "--extract-update-baseline"
GATE = "--extract-gate=regression"
BASELINE = "--extract-baseline=base.json"
CONFIRM = "--extract-confirm"
DEAD = [3, 7, 11, 15]
CONFIRMED = "  confirmed by fresh runs of 4 documents*"
CASES = [{"gold": {"n": number, **{name: f"{name}{number}" for name in NAMES}}} for number in range(40)]


@pytest.fixture
def project(pytester, write_suite, write_extractor, write_files):
    """Forty cases with the prompt `one`, and q.md with the prompt `two`; returns a function that runs them."""
    write_suite(CASES, schema=SCHEMA, prompt="p.md")
    write_extractor(EXTRACT, "document, prompt, case")
    ignored = "log\ncalls\nwrong.json\n__pycache__\n.pytest_cache\nextract-recordings\n"
    write_files({"p.md": "one\n", "q.md": "two\n", ".gitignore": ignored})

    def run(*args, prompt="two", in_process=True, status=None, lines=(), **wrong):
        write_files({"p.md": f"{prompt}\n", "wrong.json": {"two": wrong}})
        (pytester.path / "log").unlink(missing_ok=True)
        result = (pytester.runpytest if in_process else pytester.runpytest_subprocess)("--tb=no", *args)
        assert status in {None, result.ret}
        shows(result, *lines)
        return result

    return run


@pytest.fixture(scope="module")
def made():
    """The baseline of three runs, once one test has made it."""
    return []


@pytest.fixture
def run(pytester, project, made):
    """Run the cases, by default with the prompt `two`, beside a baseline of three runs."""
    file = pytester.path / "base.json"
    if made:
        file.write_text(made[0])
    else:
        project(UPDATE, BASELINE, "--extract-repeat=3", prompt="one", status=0)
        made.append(file.read_text())
    return project


@pytest.fixture
def fresh_calls(pytester):
    """Count the calls beyond one of each case, by case."""

    def count(prompt="two"):
        names = [line.split()[0] for line in (pytester.path / "log").read_text().splitlines() if line.endswith(prompt)]
        return {name: count for name in sorted(set(names)) if (count := names.count(name) - 1)}

    return count


TWICE_EACH = dict.fromkeys(["c11", "c15", "c3", "c7"], 2)


@pytest.mark.parametrize("xdist", [(), ("--dist=loadfile",), ("-n1",)], ids=["plain", "without-workers", "xdist"])
def test_a_baseline_of_three_runs_confirms_with_two_of_them(pytester, run, fresh_calls, xdist):
    options = (GATE, BASELINE, CONFIRM, "--extract-report=run.jsonl", *xdist)
    lines = [
        "confirmation: 4 cases that fell run again (* calls at most)",
        "*= regression gate =*",
        "WORSE. fields right 90.0 %, was 100.0 %: worse in 4 of 40 documents (c11, c15, c3, c7), better in 0*",
        "  confirmed by fresh runs of 4 documents that fell (2 before, 2 now): *",
        "  the confirmation took 8 calls, $0.08.",
        "*36 passed, 4 below their thresholds, 1 verdict: WORSE in *",
    ]
    run(*options, always=DEAD, in_process=False, status=RED, lines=lines)
    assert fresh_calls() == TWICE_EACH
    assert (pytester.path / "run.jsonl").read_text().count('"nodeid"') == 40, "fresh runs are no results of the run"


def test_a_fall_that_does_not_come_back_is_not_confirmed(run):
    result = run(GATE, BASELINE, CONFIRM, first=DEAD, status=GREEN)
    again = "  not confirmed by fresh runs of 4 documents that fell (*): fields right 100.0 %, was 100.0 %: *"
    shows(result, "UNDECIDED. *", again)
    result.stdout.no_fnmatch_line("*WORSE*")


def test_without_the_option_the_verdict_names_it_and_its_price(project):
    result = project("--extract-prompt=p.md", "--extract-prompt=q.md", GATE, prompt="one", always=DEAD[:3])
    told = "*to see if the fall is real, run 3 cases that fell again on both sides: pytest --extract-confirm (18 calls, $0.18)."
    shows(result, "UNDECIDED. *", told)


def test_a_gate_with_a_budget_confirms_by_itself_and_a_comparison_without_a_gate_does_not(run):
    run(GATE, BASELINE, "--extract-budget=5", always=DEAD, lines=["WORSE. *", CONFIRMED, "  the confirmation took *"])
    run(BASELINE, "--extract-budget=5", always=DEAD).stdout.no_fnmatch_line("*confirmation*")


@pytest.mark.parametrize(
    ("wrong", "options", "lines"),
    [
        (range(20), [], ["WORSE. *"]),
        ([], [], ["PASS*"]),
        (DEAD, ["--extract-rule=max_fallen=0"], ["WORSE. fields right 90.0 %*", "  rule: 16 fields fell, *"]),
    ],
    ids=["a-fall-on-many-cases", "as-good", "a-hard-rule"],
)
def test_what_is_sure_needs_no_fresh_run(run, fresh_calls, wrong, options, lines):
    run(GATE, BASELINE, CONFIRM, *options, always=[*wrong], lines=lines)
    assert fresh_calls() == {}


def test_a_baseline_of_one_run_confirms_nothing_and_is_told_what_to_do(project, fresh_calls):
    project(UPDATE, BASELINE, "--extract-repeat=1", prompt="one")
    result = project(GATE, BASELINE, CONFIRM, always=DEAD)
    why = "*not confirmed: the baseline has one run of each case; store a baseline of three runs *"
    shows(result, "WORSE. *", why)
    result.stdout.no_fnmatch_line("*confirmed by*")
    assert fresh_calls() == {}
    lines = ["UNDECIDED. *", "  to see if the fall is real, store a baseline of three runs *"]
    project(GATE, BASELINE, always=DEAD[:3], lines=lines)


def test_two_variants_of_a_run_are_both_called_again(project, fresh_calls):
    variants = ("--extract-prompt=p.md", "--extract-prompt=q.md")
    result = project(*variants, GATE, CONFIRM, prompt="one", always=DEAD)
    variant = "[[]p.md -> q.md[]]"
    shows(result, f"WORSE. {variant} fields right 90.0 %, was 100.0 %*", f"  {variant} {CONFIRMED.strip()}")
    assert fresh_calls("one") == fresh_calls("two") == TWICE_EACH


def test_the_base_revision_is_called_again(pytester, project, fresh_calls, git):
    (pytester.path / "wrong.json").write_text("{}")
    git("init", "-q")
    git("commit", "-qm", "first")
    lines = ["WORSE. [[]HEAD -> now[]] *", f"  [[]HEAD -> now[]] {CONFIRMED.strip()}"]
    project("--extract-base-ref=HEAD", GATE, CONFIRM, always=DEAD, lines=lines)
    assert fresh_calls("one") == TWICE_EACH


def test_recordings_of_the_run_do_not_answer_but_those_of_a_confirmation_do(pytester, run, fresh_calls):
    arguments = (GATE, BASELINE, CONFIRM, "--extract-record=once")
    first = run(*arguments, always=DEAD)
    assert fresh_calls() == TWICE_EACH
    again = run(*arguments, always=DEAD)
    assert not (pytester.path / "log").exists()
    verdicts = [[line for line in result.outlines if line.startswith("  confirmed by")] for result in (first, again)]
    assert verdicts[0] == verdicts[1] != []
    shows(again, "  the confirmation took 0 calls, $0.00.")
    run(GATE, BASELINE, CONFIRM, "--extract-record=none", lines=["WORSE. *", "  confirmed by *"])


def test_offline_without_recorded_fresh_runs_the_verdict_says_how_to_record_them(run):
    run("--extract-record=once", always=DEAD)
    lines = [
        "  no fresh recording of *recorded for confirmation none, now yes; renew it with: * --extract-record=new.",
        "  not confirmed: 0 of 4 cases could run again, too few to show a fall.",
    ]
    run(GATE, BASELINE, CONFIRM, "--extract-record=none", always=DEAD, lines=lines)


def test_the_budget_ends_the_confirmation_too(run, fresh_calls):
    none_left = run(GATE, BASELINE, CONFIRM, "--extract-budget=0.4", always=DEAD)
    not_again = "  not confirmed: 0 of 4 cases could run again, *"
    shows(none_left, "WORSE. *", "  the budget of $0.4 is spent.", not_again)
    lines = ["*confirmed by fresh runs of 3 of the 4 documents that fell *"]
    run(GATE, BASELINE, CONFIRM, "--extract-budget=0.46", "--extract-concurrency=1", always=DEAD, lines=lines)
    assert sum(fresh_calls().values()) == 6


def test_a_past_run_with_a_budget_calls_nothing(pytester, run):
    run("--extract-report=run.jsonl", always=DEAD)
    run(GATE, BASELINE, "--extract-budget=5", "--extract-from=run.jsonl", always=DEAD, lines=["WORSE. *"])
    assert not (pytester.path / "log").exists()


def test_the_cases_that_failed_last_are_confirmed_under_xdist_though_they_pass_now(run):
    run("--extract-gate=case", always=[*range(12)], down=[20], in_process=False)
    lines = ["*confirmed by fresh runs of 3 documents *"]
    result = run(GATE, BASELINE, CONFIRM, "-n2", "--lf", always=DEAD[:3], down=[20], in_process=False, lines=lines)
    result.stdout.no_fnmatch_line("*cannot be called*")


def test_an_interrupted_confirmation_says_so(run):
    lines = ["*not confirmed: the fresh runs were interrupted; run the command again*"]
    run(GATE, BASELINE, CONFIRM, always=DEAD, stop=DEAD, in_process=False, status=STOPPED, lines=lines)


def test_the_number_bounds_the_cases(run, fresh_calls):
    run(GATE, BASELINE, f"{CONFIRM}=3", always=DEAD[:3])
    assert len(fresh_calls()) == 3
    assert sum(fresh_calls().values()) <= 12


def test_mistakes_in_a_file_are_told_once_under_xdist_too(run, write_suite):
    bad = {"id": "bad", "text": "x", "gold": {}, "no_such_key": 1}
    write_suite([*CASES, bad], schema=SCHEMA, prompt="p.md")
    lines = [CONFIRMED, "*= 36 passed, 1 error, 4 below their thresholds, 1 verdict: WORSE in *"]
    run(GATE, BASELINE, CONFIRM, "-n2", always=DEAD, in_process=False, lines=lines)
