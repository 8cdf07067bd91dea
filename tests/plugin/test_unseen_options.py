"""A model, a prompt or a mode that the extractor cannot see is refused before its first call."""

import pytest

from tests.plugin.conftest import GREEN, RED, refused, shows

CALL = "print('CALL') or {}"
EXTRACTORS = {
    "lambda": f"    return lambda document: {CALL}\n",
    "inner": f"    def extract(document, schema):\n        return {CALL}\n    return extract\n",
    "async": f"    async def extract(document):\n        return {CALL}\n    yield extract\n",
    "module": f"    return plain\n\n\ndef plain(document):\n    return {CALL}\n",
    "partial": f"    return functools.partial(plain, 1)\n\n\ndef plain(n, document):\n    return {CALL}\n",
    "object": f"    return Object(1)\n\n\nclass Object:\n    def __init__(self, model):\n        self.prompt = model\n"
    f"    def __call__(self, document):\n        return {CALL}\n",
    "assigned": f"    extract = plain\n    return extract\n\n\ndef plain(document):\n    return {CALL}\n",
    "imported": "    return other.plain\n",
    "helper with a model": f"    return lambda document: ask('x')\n\n\ndef ask(text, model='y'):\n    return {CALL}\n",
}
MODELS = ("--extract-model=a/b", "--extract-model=c/d")
PROMPTS = ("--extract-prompt=p.md", "--extract-prompt=q.md")
MODE = ("--extract-mode=structured",)


def conftest(extractor, needs=""):
    head = "import functools\n\nimport other\nimport pytest\n"
    fixture = f"\n\n@pytest.fixture(scope='session')\ndef extractor({needs}):\n"
    return head + fixture + EXTRACTORS.get(extractor, extractor)


@pytest.fixture(autouse=True)
def project(write_case, write_files):
    write_case("a")
    other = f"'''A model: --extract-model=NAME'''\n\ndef plain(document):\n    return {CALL}\n"
    write_files({"p.md": "one", "q.md": "two", "other.py": other})


@pytest.mark.parametrize(
    ("extractor", "asked"),
    [*((each, MODELS) for each in EXTRACTORS), ("inner", PROMPTS), ("object", PROMPTS), ("inner", MODE)],
)
def test_what_no_call_sees_is_refused(pytester, extractor, asked):
    pytester.makeconftest(conftest(extractor))
    result = pytester.runpytest(*asked, "-s")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert f"{asked[0].partition('=')[0]}: no call would see it" in text
    assert "conftest.py:7: the fixture `extractor` " in text
    assert "CALL" not in text.replace("'CALL'", "")


@pytest.mark.parametrize(("extractor", "asked"), [("inner", PROMPTS), ("object", MODELS)])
def test_xdist_ends_alike(pytester, extractor, asked):
    pytester.makeconftest(conftest(extractor))
    told = f"ERROR: {asked[0].partition('=')[0]}: no call would see it*conftest.py:7:*"
    refused(pytester.runpytest(*asked, "-n1"), told)


ALL_THREE = "extract_model, extract_prompt, extract_mode"
CLIENT = "\n\n@pytest.fixture({})\ndef client(extract_model, extract_prompt, extract_mode): ...\n"
ASKS = """\
    request.config.getoption('--extract-model'), request.config.getoption('extract_prompt')
    request.config.option.extract_mode
"""
SEEN = {
    "the fixture": conftest("lambda", ALL_THREE),
    "another fixture": conftest("lambda", "client") + CLIENT.format("scope='session'"),
    "a fixture that sets it": conftest("lambda") + CLIENT.format("autouse=True"),
    "getoption": conftest(ASKS + EXTRACTORS["lambda"], "request"),
    "keywords": conftest(f"    return lambda **given: {CALL}\n", "extract_mode"),
    "arguments": conftest(f"    return lambda document, prompt, model=None: {CALL}\n", "extract_mode"),
    "arguments of an object": conftest("object", "extract_mode").replace("self, doc", "self, model, case, doc"),
}


@pytest.mark.parametrize("text", SEEN.values(), ids=SEEN)
def test_what_may_be_seen_is_called(pytester, text):
    pytester.makeconftest(text)
    result = pytester.runpytest(*MODELS, *PROMPTS, *MODE, "-s")
    assert result.stdout.str().count("CALL\n") == 4


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_a_prompt_of_a_case_is_asked_for_too(pytester, run, write_case, args):
    write_case("b", prompt="p.md")
    pytester.makeconftest(conftest("inner"))
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = "*b.extract.yaml:1: `prompt`: no call would see it*conftest.py:7: *or leave `prompt` out*"
    (result.stderr if args else result.stdout).fnmatch_lines([told])
    pytester.makeconftest(conftest(f"    return lambda document, prompt: {CALL}\n"))
    run(status=RED)


def test_the_nearest_fixture_counts(pytester, run):
    """One that overrides another sees what the other takes only where it asks for it."""
    pytester.makeconftest(SEEN["the fixture"])
    folder = pytester.mkdir("sub")
    (pytester.path / "a.extract.yaml").rename(folder / "a.extract.yaml")
    (folder / "conftest.py").write_text(conftest("lambda"))
    result = pytester.runpytest(MODELS[0])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    shows(result, "*sub/conftest.py:7:*")
    (folder / "conftest.py").write_text(conftest("    return extractor\n", "extractor"))
    run(MODELS[0], status=RED)


def test_what_is_only_listed_or_replayed_needs_no_extractor_that_sees_it(pytester, run):
    pytester.makeconftest(conftest("inner"))
    run(MODELS[0], "--collect-only", status=GREEN)
    run("--extract-report=r.jsonl", status=RED)
    assert pytester.runpytest(MODELS[0], "--extract-from=r.jsonl").ret != pytest.ExitCode.USAGE_ERROR
