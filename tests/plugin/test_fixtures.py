from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_extract.results import read_results
from tests.plugin.conftest import GOLD, SCHEMA

Write = Callable[..., None]
CONFTEST = """
import pytest

@pytest.fixture{scope}
def extractor({asks}):
    {extract}
    return extract
"""


def conftest(pytester: pytest.Pytester, extract: str, *, scope: str = "", asks: str = "", below: str = ".") -> None:
    folder = pytester.path / below
    folder.mkdir(parents=True, exist_ok=True)
    text = CONFTEST.format(scope=scope and f"(scope={scope!r})", asks=asks, extract=extract.replace("\n", "\n    "))
    (folder / "conftest.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("scope", ["function", "class", "module", "package", "session"])
def test_any_scope_works_and_is_set_up_as_often_as_it_says(
    pytester: pytest.Pytester, write_case: Write, scope: str
) -> None:
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(scope={scope!r})
        def extractor():
            print("\\nset up")
            yield lambda document: document.text
            print("\\ntorn down")
        """
    )
    for name in ("a", "b", "below/c"):
        write_case(name)
    result = pytester.runpytest("-s")
    result.assert_outcomes(passed=3)
    times = 1 if scope in {"session", "package"} else 3
    assert result.outlines.count("set up") == result.outlines.count("torn down") == times


def test_a_property_may_be_a_named_tuple(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "extract = lambda document: document.text")
    with (pytester.path / "conftest.py").open("a") as file:
        file.write(
            """
from collections import namedtuple

@pytest.fixture(autouse=True)
def told(record_property):
    record_property("size", namedtuple("Size", "width height")(3, "4"))
"""
        )
    write_case("acme")
    pytester.runpytest("--junitxml=junit.xml", "-o", "junit_family=xunit1").assert_outcomes(passed=1)
    assert "value=\"Size(width=3, height='4')\"" in (pytester.path / "junit.xml").read_text()


def test_a_module_scoped_fixture_lives_as_long_as_its_file(pytester: pytest.Pytester) -> None:
    conftest(pytester, "print('\\nset up')\nextract = lambda document: document.text", scope="module")
    cases = [{"id": f"c{i}", "text": "{}"} for i in range(3)]
    whole = {"defaults": {"schema": {"type": "object"}, "gold": {}}, "cases": cases}
    (pytester.path / "many.extract.yaml").write_text(json.dumps(whole), encoding="utf-8")
    result = pytester.runpytest("-s")
    result.assert_outcomes(passed=3)
    assert result.outlines.count("set up") == 1


def test_the_nearest_conftest_wins(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "extract = lambda document: '{}'")
    conftest(pytester, "extract = lambda document: document.text", below="near")
    write_case("near/acme")
    write_case("far/acme")
    result = pytester.runpytest("-v")
    result.stdout.fnmatch_lines(["far/acme.extract.yaml::acme FAILED*", "near/acme.extract.yaml::acme PASSED*"])


def test_an_overriding_extractor_may_use_the_one_above(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "extract = lambda document: document.text[::-1]")
    conftest(pytester, "extract = lambda document: extractor(document)[::-1]", asks="extractor", below="near")
    write_case("near/acme")
    pytester.runpytest().assert_outcomes(passed=1)


def test_autouse_fixtures_run_around_a_case(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def around(request):
            print("before", request.node.name)
            yield
            print("after", request.node.name)

        @pytest.fixture
        def extractor(tmp_path, request):
            return lambda document: document.text
        """
    )
    write_case("acme")
    result = pytester.runpytest("-s")
    result.stdout.fnmatch_lines(["*before acme*", "*after acme*"])


@pytest.mark.parametrize(
    "extract",
    [
        pytest.param("extract = lambda document: document.text", id="document"),
        pytest.param("extract = lambda case, document: case.document.text", id="case"),
        pytest.param("extract = lambda *, document, **rest: document.text if sorted(rest) else ''", id="keywords"),
        pytest.param(
            "def extract(document, schema, question, prompt, model, case, other=1):\n"
            "    assert (schema['type'], question, model) == ('object', 'What?', None)\n"
            "    return document.text",
            id="all",
        ),
        pytest.param("async def extract(document):\n    return document.text", id="async"),
        pytest.param("import json\nextract = lambda document: json.loads(document.text)", id="dict"),
        pytest.param(
            "from pytest_extract.extraction.call import Extraction\n"
            "extract = lambda document: Extraction(document.text, cost_usd=0.01, usage={'prompt_tokens': 5})",
            id="extraction",
        ),
    ],
)
def test_an_extractor_gets_what_its_signature_names(pytester: pytest.Pytester, write_case: Write, extract: str) -> None:
    conftest(pytester, extract)
    write_case("acme", question="What?")
    pytester.runpytest().assert_outcomes(passed=1)


def test_an_unknown_argument_is_told_with_the_nearest(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "extract = lambda documnet: '{}'")
    write_case("acme")
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*the extractor asks for 'documnet'; did you mean 'document'?*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_an_extractor_one_error_says_what_to_write(pytester: pytest.Pytester, write_case: Write) -> None:
    for name in "abcd":
        write_case(name)
    result = pytester.runpytest()
    result.assert_outcomes(errors=4)
    assert result.stdout.str().count("def extractor():") == 1
    result.stdout.fnmatch_lines(["no extractor for this case*conftest.py*", "*--extract-model=PROVIDER/NAME*"])
    result.stdout.no_fnmatch_line("*raise ConfigError*")


def test_collecting_needs_no_extractor(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    assert pytester.runpytest("--collect-only").ret == pytest.ExitCode.OK


def test_a_failing_fixture_is_an_error_of_its_cases(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "raise RuntimeError('no key')")
    write_case("acme")
    result = pytester.runpytest("--extract-report=r.jsonl")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*raise RuntimeError('no key')*", "1 case: 1 broken"])
    result.stdout.no_fnmatch_line("*_pytest?fixtures.py*")
    result.stdout.no_fnmatch_line("*pluggy?_callers.py*")
    assert json.loads((pytester.path / "r.jsonl").read_text(encoding="utf-8"))["outcome"] == "broken"


@pytest.mark.parametrize("option", ["--extract-record=off", "--extract-record=once"])
def test_params_of_what_the_extractor_asks_for_say_so_too(
    pytester: pytest.Pytester, write_case: Write, option: str
) -> None:
    conftest(pytester, "extract = lambda document: document.text", asks="other")
    with (pytester.path / "conftest.py").open("a") as file:
        file.write("\n@pytest.fixture(params=['x', 'y'])\ndef other(request): ...\n")
    write_case("acme")
    result = pytester.runpytest(option)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the fixture 'other' has params, and a case is not run once for each: *"])


@pytest.mark.parametrize("autouse", [False, True], ids=["extractor", "autouse"])
def test_a_fixture_with_params_says_what_to_do_instead(
    pytester: pytest.Pytester, write_case: Write, autouse: bool
) -> None:
    name = "other" if autouse else "extractor"
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(params=["x", "y"], autouse={autouse})
        def {name}(request):
            return lambda document, model: document.text
        """
    )
    write_case("acme")
    result = pytester.runpytest("--extract-model=openai/m")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"the fixture '{name}' has params, and a case is not run once for each: *"])


def test_a_raising_extractor_breaks_its_case_only(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(
        pytester,
        "def helper(document):\n"
        "    return {'vendor': 1}['total']\n"
        "def extract(document):\n"
        "    return helper(document) if 'boom' in document.text else document.text",
    )
    write_case("bad", "boom")
    write_case("good")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "BROKEN: the extractor raised; this case says nothing about the extraction",
            "*return helper(document) if*",
            "conftest.py:*",
            "*return {'vendor': 1}?'total'?*",
            "E *KeyError: 'total'",
            "2 cases: 1 passed, 1 broken*",
            "broken: 1 case: KeyError: 'total'",
            "BROKEN bad.extract.yaml::bad - KeyError: 'total'",
        ]
    )
    assert "call_extractor" not in result.stdout.str()


def test_a_raising_coroutine_shows_the_user_s_frames_only(pytester: pytest.Pytester, write_case: Write) -> None:
    conftest(pytester, "async def extract(document):\n    raise ValueError('late')")
    write_case("acme")
    text = pytester.runpytest().stdout.str()
    assert "raise ValueError('late')" in text
    assert "futures" not in text
    assert "pytest_extract/" not in text


@pytest.mark.parametrize("style", ["short", "line", "no", "native"])
def test_a_broken_case_obeys_tb(pytester: pytest.Pytester, write_case: Write, style: str) -> None:
    conftest(pytester, "def extract(document):\n    raise ValueError('late')")
    write_case("acme")
    result = pytester.runpytest(f"--tb={style}")
    text = result.stdout.str()
    assert ("raise ValueError" in text) == (style in {"short", "native"})
    assert "BROKEN acme.extract.yaml::acme - ValueError: late" in text


@pytest.mark.parametrize(
    ("option", "line"),
    [
        pytest.param("--setup-show", "*acme.extract.yaml::acme?m? (fixtures used: *extractor*)*", id="setup-show"),
        pytest.param("--setup-plan", "*SETUP * extractor", id="setup-plan"),
        pytest.param("--fixtures-per-test", "extractor -- conftest.py:*", id="fixtures-per-test"),
        pytest.param("--fixtures", "extract_model ?session scope? -- *", id="fixtures"),
    ],
)
def test_pytest_s_own_reports_on_fixtures(pytester: pytest.Pytester, write_case: Write, option: str, line: str) -> None:
    conftest(pytester, "extract = lambda document: document.text")
    write_case("acme")
    result = pytester.runpytest(option, "--extract-model=m", "--extract-model=n")
    result.stdout.fnmatch_lines([line])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_an_extractor_that_changes_what_it_is_given_changes_no_case(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import json
        import pytest

        @pytest.fixture(scope="session")
        def extractor():
            def extract(document, schema, case):
                assert schema["required"] == ["vendor", "total"]
                schema["required"] = ["nothing"]
                schema["properties"].clear()
                case.gold.clear()
                return json.loads(document.text)
            return extract
        """
    )
    good = json.dumps(GOLD)
    bad = json.dumps({**GOLD, "total": 1})
    case = {"schema": SCHEMA, "gold": GOLD}
    (pytester.path / "both.extract.yaml").write_text(
        json.dumps({"defaults": case, "cases": [{"id": "a", "text": good}, {"id": "b", "text": bad}]}), encoding="utf-8"
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["  pass_rate 0.667 is below 1, *"])


RETURNS = """
import decimal
import pytest

@pytest.fixture
def extractor():
    return lambda document: {value}
"""


def test_an_output_of_a_type_that_json_does_not_have_breaks_the_case(
    pytester: pytest.Pytester, write_case: Callable[..., None]
) -> None:
    pytester.makeconftest(RETURNS.format(value='{"vendor": "x", "total": 1, "items": [{"name": {1}}]}'))
    write_case("acme")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*BROKEN: the extractor returned no JSON: at items[[]0[]].name, a value of type set is no JSON value; return a *"
        ]
    )
    result.stdout.fnmatch_lines(["1 case: 1 broken*"])


def test_a_decimal_is_a_number(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    pytester.makeconftest(
        RETURNS.format(value='{**case.gold, "total": decimal.Decimal("12.50")}').replace("document", "case")
    )
    write_case("acme")
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=1)
    pytester.runpytest("--extract-record=none").assert_outcomes(passed=1)


PARAMS = """
import pytest

@pytest.fixture(params=["regex", {"llm": 1}, 3], ids=%s, scope="session")
def extractor(request):
    print("made", request.param)
    yield lambda document: {"vendor": "ACME GmbH" if request.param == "regex" else "ACNE", "total": request.param}
    print("closed", request.param)
"""


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (None, ["regex", "extractor1", "3"]),
        (["a", "b", "c"], ["a", "b", "c"]),
        ("lambda value: 'llm' if isinstance(value, dict) else None", ["regex", "llm", "3"]),
    ],
)
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_params_of_the_extractor_are_variants(
    pytester: pytest.Pytester, write_case: Write, ids: object, names: list[str], workers: str
) -> None:
    pytester.makeconftest(PARAMS % ids)
    for name in ("acme", "born"):
        write_case(name)
    result = pytester.runpytest(workers, "--extract-report=r.jsonl", "-s")
    variants = {one.nodeid: one.variant.param for one in read_results(pytester.path / "r.jsonl").results}
    assert variants == {f"{case}.extract.yaml::{case}[{name}]": name for case in ("acme", "born") for name in names}
    if workers == "-n0":
        assert [result.stdout.str().count(word) for word in ("made ", "closed ")] == [3, 3]
    result.stdout.fnmatch_lines([f"*{names[0]} -> *"])
    one = pytester.runpytest(f"acme.extract.yaml::acme[{names[1]}]")
    one.assert_outcomes(failed=1)
    again = pytester.runpytest("--extract-from=r.jsonl", "--extract-report=again.jsonl")
    again.stdout.fnmatch_lines([f"*{names[0]} -> *"])
    assert again.parseoutcomes()["failed"] == 6
    assert len(read_results(pytester.path / "again.jsonl").results) == 6


def test_variants_have_recordings_of_their_own_and_update_no_gold(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(PARAMS % None)
    write_case("acme")
    for mode in ("once", "none"):
        pytester.runpytest(f"--extract-record={mode}", f"--extract-report={mode}.jsonl")
    for mode in ("once", "none"):
        results = read_results(pytester.path / f"{mode}.jsonl").results
        outputs = {one.variant.param: one.attempts[0].output["total"] for one in results}
        assert outputs == {"regex": "regex", "extractor1": {"llm": 1}, "3": 3}
    refused = pytester.runpytest("--extract-update-gold=fix")
    refused.stdout.fnmatch_lines(["*regex, extractor1, 3: several variants of the extractor cannot update one gold*"])


def test_params_are_named_and_given_as_pytest_does(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        PARAMS = [
            pytest.param("gpt", id="small"), None, dict, "a", "a", pytest.param("b", marks=pytest.mark.skip("later"))
        ]

        @pytest.fixture(params=PARAMS)
        def extractor(request):
            return lambda document: {"vendor": str(request.param), "total": 1}
        """
    )
    pytester.makepyfile("def test_params(extractor): ...")
    write_case("acme")
    own = pytester.runpytest("--collect-only", "-q", "test_params_are_named_and_given_as_pytest_does.py").outlines
    ids = {line.partition("[")[2] for line in own if "[" in line}
    result = pytester.runpytest("acme.extract.yaml", "--extract-report=r.jsonl")
    result.assert_outcomes(failed=5, skipped=1)
    results = read_results(pytester.path / "r.jsonl").results
    assert {one.nodeid.partition("[")[2] for one in results} == ids - {"b]"}
    said = {one.variant.param: one.attempts[0].output["vendor"] for one in results if one.attempts}
    assert said == {"small": "gpt", "None": "None", "dict": "<class 'dict'>", "a0": "a", "a1": "a"}


@pytest.mark.parametrize(
    ("own", "params"),
    [
        pytest.param("def extractor(tmp_path_factory): return lambda: '{}'", [], id="no params of its own"),
        pytest.param("def extractor(extractor): return extractor", ["a", "b"], id="asks for the one above"),
        pytest.param("def extractor(extractor, request): return extractor", ["c"], id="own params"),
    ],
)
def test_an_extractor_of_a_folder_may_override_one_with_params(
    pytester: pytest.Pytester, write_case: Write, own: str, params: list[str]
) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(params=["a", "b"])
        def extractor(tmp_path):
            return lambda: "{}"
        """
    )
    write_case("below/acme")
    decorator = f"@pytest.fixture(params={params})" if params == ["c"] else "@pytest.fixture"
    conftest = pytester.path / "below" / "conftest.py"
    conftest.write_text(f"import pytest\n\n{decorator}\n{own}\n")
    result = pytester.runpytest("--extract-report=r.jsonl")
    assert "errors" not in result.parseoutcomes()
    results = read_results(pytester.path / "r.jsonl").results
    assert [one.variant.param for one in results] == (params or [None])
    assert all(one.attempts for one in results)
