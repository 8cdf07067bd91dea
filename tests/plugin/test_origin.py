"""Where cases come from: corrections and made-up cases stay out of headline rates and of the gate's estimate."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.plugin.conftest import GOLD
from tests.small_pdf import small_pdf

pytestmark = pytest.mark.usefixtures("echo")
Write = Callable[..., None]
BAD = {**GOLD, "vendor": "Globex"}


def test_a_correction_is_counted_apart(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    write_case("fixed", BAD, origin="correction")
    write_case("made", BAD, origin="synthetic")
    result = pytester.runpytest("--extract-gate=none")
    result.stdout.fnmatch_lines(
        [
            "3 cases: 1 passed, 2 failed; fields right 100 %; f1 1",
            "not in the rates above: 1 correction case, 1 synthetic case",
        ]
    )


def test_where_no_case_is_a_sample_all_count(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("made", BAD, origin="synthetic")
    result = pytester.runpytest("--extract-gate=none")
    result.stdout.fnmatch_lines(["1 case: 1 failed; fields right *"])


def test_the_regression_gate_compares_samples_and_a_correction_fails_by_itself(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    for number in range(12):
        write_case(f"c{number}")
    for number in range(12):
        write_case(f"fixed{number}", origin="correction")
    pytester.runpytest("--extract-baseline=b.json", "--extract-update-baseline", "--extract-force").assert_outcomes(
        passed=24
    )
    for number in range(12):
        write_case(f"fixed{number}", BAD, origin="correction")
    result = pytester.runpytest("--extract-baseline=b.json", "--extract-gate=regression")
    result.assert_outcomes(passed=12, failed=12)
    result.stdout.fnmatch_lines(["*PASS*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_origin_is_a_dimension(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("good")
    write_case("fixed", BAD, origin="correction")
    result = pytester.runpytest("--extract-gate=none", "--extract-by=origin")
    result.stdout.fnmatch_lines(["*origin*", "*correction*", "*sample*"])


PAGES = """
import pytest
from pytest_extract import Extraction

@pytest.fixture
def extractor():
    def extract(document):
        return Extraction({"total": len(document.pages)}, usage={"prompt_tokens": 700 * len(document.pages)})
    return extract
"""


def test_pages_and_tokens_are_dimensions(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(PAGES)
    for count in (1, 3):
        (pytester.path / f"{count}.pdf").write_bytes(small_pdf(*["a page"] * count))
        case = {
            "document": f"{count}.pdf",
            "schema": {"properties": {"total": {"type": "integer"}}},
            "gold": {"total": count},
        }
        (pytester.path / f"p{count}.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    result = pytester.runpytest("--extract-by=pages", "--extract-by=tokens")
    result.stdout.fnmatch_lines(
        ["by pages", "  0 to 10 * 2 *", "by tokens", "  501 to 1,000 * 1 *", "  2,001 to 5,000 * 1 *"]
    )


def test_types_tell_lists_and_listed_values_apart(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import json, pytest\n@pytest.fixture\ndef extractor():\n    return lambda document: json.loads(document.text)\n"
    )
    schema = {"properties": {
        "name": {"type": "string"}, "unit": {"enum": ["kg", "g"]}, "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}}, "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
    }}  # fmt: skip
    gold = {"name": "bolt", "unit": "kg", "tags": ["new"], "sizes": [4, 5], "kinds": ["a"]}
    case = {"text": json.dumps(gold), "schema": schema, "gold": gold}
    (pytester.path / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    result = pytester.runpytest("--extract-by=type")
    result.stdout.fnmatch_lines_random(
        ["  enum *", "  enum in a list *", "  string *", "  string in a list *", "  integer in a list *"]
    )
