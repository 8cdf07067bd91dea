"""Where cases come from stays out of headline rates and the gate's estimate; dimensions of --extract-by."""

import json

import pytest

from tests.plugin.conftest import GOLD, RED, shows
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


def test_pages_and_tokens_are_dimensions(pytester, run, write_extractor):
    pages = "pages = len(document.pages)\nreturn Extraction({'total': pages}, usage={'prompt_tokens': 700 * pages})"
    write_extractor(pages)
    for count in (1, 3):
        (pytester.path / f"{count}.pdf").write_bytes(small_pdf(*["a page"] * count))
        schema = {"properties": {"total": {"type": "integer"}}}
        case = {"document": f"{count}.pdf", "schema": schema, "gold": {"total": count}}
        (pytester.path / f"p{count}.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
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
