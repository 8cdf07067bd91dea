"""What the terminal says of a run: its rates, what they leave out, what rests on nothing, how far a long run is."""

import pytest

from tests.plugin.conftest import GOLD, RED, plain_and_workers, shows
from tests.small_pdf import small_pdf

pytestmark = pytest.mark.usefixtures("echo")
BAD = {**GOLD, "vendor": "Globex"}


def test_a_correction_is_counted_apart_where_there_are_samples(run, write_case):
    write_case("good")
    write_case("fixed", BAD, origin="correction")
    write_case("made", BAD, origin="synthetic")
    lines = [
        "3 cases: 1 passed, 2 failed; fields right 100 %; f1 1",
        "not in the rates above: 1 correction case, 1 synthetic case",
    ]
    result = run("--extract-gate=none", "--extract-by=origin", lines=lines)
    shows(result, "*by origin*", "*correction*", "*sample*")
    run("--extract-gate=none", "-k", "made", lines=["1 case: 1 failed; fields right *"])


def test_the_regression_gate_compares_samples_and_a_correction_fails_by_itself(run, write_case):
    for number in range(12):
        write_case(f"c{number}")
        write_case(f"fixed{number}", origin="correction")
    run("--extract-baseline=b.json", "--extract-update-baseline", passed=24)
    for number in range(12):
        write_case(f"fixed{number}", BAD, origin="correction")
    run("--extract-baseline=b.json", "--extract-gate=regression", passed=12, failed=12, status=RED, lines=["*PASS*"])


def test_pages_and_tokens_are_dimensions(run, write_extractor, write_files):
    pages = "pages = len(document.pages)\nreturn Extraction({'total': pages}, usage={'prompt_tokens': 700 * pages})"
    write_extractor(pages)
    for count in (1, 3):
        schema = {"properties": {"total": {"type": "integer"}}}
        case = {"document": f"{count}.pdf", "schema": schema, "gold": {"total": count}}
        write_files({f"{count}.pdf": small_pdf(*["a page"] * count), f"p{count}.extract.yaml": case})
    lines = ["by pages", "  0 to 10 * 2 *", "by tokens", "  501 to 1,000 * 1 *", "  2,001 to 5,000 * 1 *"]
    run("--extract-by=pages", "--extract-by=tokens", lines=lines)


def test_types_tell_lists_and_listed_values_apart(pytester, write_case):
    types = {
        "name": ({"type": "string"}, "bolt"),
        "unit": ({"enum": ["kg", "g"]}, "kg"),
        "tags": ({"type": "array", "items": {"type": "string"}}, ["new"]),
        "sizes": ({"type": "array", "items": {"type": "integer"}}, [4, 5]),
        "kinds": ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a"]),
    }
    gold = {name: value for name, (_, value) in types.items()}
    write_case("a", gold, gold=gold, schema={"properties": {name: kind for name, (kind, _) in types.items()}})
    result = pytester.runpytest("--extract-by=type")
    named = ["  enum *", "  enum in a list *", "  string *", "  string in a list *", "  integer in a list *"]
    result.stdout.fnmatch_lines_random(named)


TEXT = {"type": "string", "evaluation_config": "string_exact"}
NAMES = ("title", "place", "course", "category")
FLAT = {"type": "object", "properties": dict.fromkeys(NAMES, TEXT)}
RACE = {"title": "Final", "events": [{"name": "Ada", "time": 59.1}, {"name": "Bob", "time": 61.0}]}


@plain_and_workers
def test_the_summary_says_what_a_case_is_allowed(run, write_case, workers):
    allowed = {"schema": FLAT, "gold": RACE, "uncompared": "allow"}
    write_case("empty", {"title": "Final"}, **allowed)
    write_case("wrong", {"hello": 1}, **allowed)
    free = {name: {"threshold": 0} for name in NAMES[1:]}
    mixed = {**dict.fromkeys(NAMES, "wrong"), "title": "right"}
    write_case("free", mixed, schema=FLAT, gold=dict.fromkeys(NAMES, "right"), overrides=free)
    lines = [
        "*pass_rate 0.75 is below 1, by 0.25: 3 of 4 fields passed, 3 of them by emptiness",
        "right by emptiness, without a value on either side, in 2 cases: *empty (3 of 4 passed fields)*",
        "gold values that are compared with nothing, in 2 cases: *empty (4 of 5: events)*",
        "fields of which no wrong value fails the case, in 1 case: free (place, course, category)",
    ]
    run(*workers, passed=2, failed=1, lines=lines)
    write_case("empty", RACE, schema=FLAT, gold=RACE)
    stops = "*empty.extract.yaml:1:*: 4 of 5 gold values are compared with nothing: `events` (4)*"
    run("empty.extract.yaml", status=RED, lines=[stops])


def test_one_annotation_takes_no_nullable_field_out_of_the_verdict(run, write_case):
    paid = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    properties = {"id": TEXT, "total": {"type": ["number", "null"]}, "paid": paid}
    keys = {"schema": {"type": "object", "properties": properties}, "gold": {"id": "7", "total": 2.5, "paid": True}}
    write_case("wrong", {"id": "7", "total": 999, "paid": False}, **keys)
    write_case("named", {"id": "7", "total": 999, "paid": True}, **keys, semantics="extract-bench")
    write_case("right", keys["gold"], **keys)
    result = run(passed=1, failed=2)
    result.stdout.fnmatch_lines_random(["*wrong*: 1 of 3 fields passed*", "*named*: 2 of 3 fields*"])


EAGER = """
from pytest_extract.plugin import run_results

run_results.EVERY_S = {"terminal": 0.0, "CI": 0.0}
"""
PRICED = """
if document.text == "c2":
    raise ValueError("no answer")
return Extraction(output={"a": document.text}, cost_usd=0.5)
"""


@pytest.fixture
def long_run(pytester, write_extractor, add_to_conftest, write_suite, monkeypatch):
    write_extractor(PRICED, fixture="")
    add_to_conftest(EAGER)
    cases = [{"text": f"c{number}", "gold": {"a": f"c{number}"}} for number in range(4)]
    write_suite(cases, schema={"properties": {"a": {"type": "string"}}})

    def run(*args, ci="1"):
        monkeypatch.setenv("CI", ci)
        return pytester.runpytest_subprocess("-p", "no:randomly", *args)

    return run


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_ci_is_told_how_far_the_run_is_in_cases(pytester, long_run, workers):
    pytester.makepyfile(test_a="def test_a():\n    pass\n")
    long_run(workers).stdout.re_match_lines(
        [
            r"1 of 4 cases, (1 error, )?(\$0\.50 of about \$2\.00, )?[\d.]+ cases a (second|minute), [\d.]+ s left",
            r"4 of 4 cases, 1 error, \$1\.50 of about \$1\.50, [\d.]+ cases a (second|minute), 0 s left",
        ]
    )


@pytest.mark.parametrize(("ci", "options"), [("", []), ("1", ["-q"])])
def test_a_pipe_and_a_quiet_run_have_the_dots_of_pytest_alone(long_run, ci, options):
    result = long_run(*options, ci=ci)
    result.stdout.no_fnmatch_line("* of 4 cases*")
    shows(result, "*..E.*")


def test_a_run_without_a_result_has_nothing_to_count(pytester, long_run):
    dry = long_run("--extract-dry-run")
    assert dry.ret == 0
    dry.assert_outcomes(skipped=4)
    pytester.makepyfile(test_a="def test_a():\n    pass\n")
    long_run("test_a.py").stdout.no_fnmatch_line("* cases*")
