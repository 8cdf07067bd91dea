"""A model, a prompt or a mode that the extractor cannot see is refused before its first call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Write = Callable[..., None]
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
ARGS = {
    "models": ("--extract-model=a/b", "--extract-model=c/d"),
    "prompts": ("--extract-prompt=p.md", "--extract-prompt=q.md"),
    "a mode": ("--extract-mode=structured",),
}
FIXTURE = "\n\n@pytest.fixture(scope='session')\ndef extractor({}):\n"
HEAD = "import functools\n\nimport other\nimport pytest\n"


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    (pytester.path / "p.md").write_text("one")
    (pytester.path / "q.md").write_text("two")
    pytester.makepyfile(other=f"'''A model: --extract-model=NAME'''\n\ndef plain(document):\n    return {CALL}\n")


@pytest.mark.parametrize(
    ("extractor", "asked"),
    [*((each, "models") for each in EXTRACTORS), ("inner", "prompts"), ("object", "prompts"), ("inner", "a mode")],
)
def test_what_no_call_sees_is_refused(pytester: pytest.Pytester, extractor: str, asked: str) -> None:
    pytester.makeconftest(HEAD + FIXTURE.format("") + EXTRACTORS[extractor])
    result = pytester.runpytest(*ARGS[asked], "-s")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert f"{ARGS[asked][0].partition('=')[0]}: no call would see it" in text
    assert "conftest.py:7: the fixture `extractor` " in text
    assert "CALL" not in text.replace("'CALL'", "")


@pytest.mark.parametrize(("extractor", "asked"), [("inner", "prompts"), ("object", "models")])
def test_xdist_ends_alike(pytester: pytest.Pytester, extractor: str, asked: str) -> None:
    pytester.makeconftest(HEAD + FIXTURE.format("") + EXTRACTORS[extractor])
    result = pytester.runpytest(*ARGS[asked], "-n1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {ARGS[asked][0].partition('=')[0]}: no call would see it*conftest.py:7:*"])


SEEN = {
    "the fixture": FIXTURE.format("extract_model, extract_prompt, extract_mode") + EXTRACTORS["lambda"],
    "another fixture": FIXTURE.format("client")
    + EXTRACTORS["lambda"]
    + "\n\n@pytest.fixture\ndef client(extract_model, extract_prompt, extract_mode): ...\n".replace(
        "fixture", "fixture(scope='session')"
    ),
    "a fixture that sets it": FIXTURE.format("")
    + EXTRACTORS["lambda"]
    + "\n\n@pytest.fixture(autouse=True)\ndef client(extract_model, extract_prompt, extract_mode): ...\n",
    "getoption": FIXTURE.format("request")
    + "    request.config.getoption('--extract-model'), request.config.getoption('extract_prompt')\n"
    + "    request.config.option.extract_mode\n"
    + EXTRACTORS["lambda"],
    "keywords": FIXTURE.format("extract_mode") + f"    return lambda **given: {CALL}\n",
    "arguments": FIXTURE.format("extract_mode") + f"    return lambda document, prompt, model=None: {CALL}\n",
    "arguments of an object": FIXTURE.format("extract_mode")
    + EXTRACTORS["object"].replace("self, document", "self, document, model, case"),
}


@pytest.mark.parametrize("extractor", SEEN)
def test_what_may_be_seen_is_called(pytester: pytest.Pytester, extractor: str) -> None:
    pytester.makeconftest(HEAD + SEEN[extractor])
    result = pytester.runpytest(*ARGS["models"], *ARGS["prompts"], *ARGS["a mode"], "-s")
    assert result.stdout.str().count("CALL\n") == 4


@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_a_prompt_of_a_case_is_asked_for_too(pytester: pytest.Pytester, write_case: Write, args: list[str]) -> None:
    write_case("b", prompt="p.md")
    pytester.makeconftest(HEAD + FIXTURE.format("") + EXTRACTORS["inner"])
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (result.stderr if args else result.stdout).fnmatch_lines(
        ["*b.extract.yaml:1: `prompt`: no call would see it*conftest.py:7: *or leave `prompt` out*"]
    )
    pytester.makeconftest(HEAD + FIXTURE.format("") + f"    return lambda document, prompt: {CALL}\n")
    assert pytester.runpytest().ret == pytest.ExitCode.TESTS_FAILED


def test_the_nearest_fixture_counts(pytester: pytest.Pytester) -> None:
    """One that overrides another sees what the other takes only where it asks for it."""
    pytester.makeconftest(HEAD + SEEN["the fixture"])
    folder = pytester.mkdir("sub")
    (pytester.path / "a.extract.yaml").rename(folder / "a.extract.yaml")
    (folder / "conftest.py").write_text(HEAD + FIXTURE.format("") + EXTRACTORS["lambda"])
    result = pytester.runpytest("--extract-model=a/b")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*sub/conftest.py:7:*"])
    (folder / "conftest.py").write_text(HEAD + FIXTURE.format("extractor") + "    return extractor\n")
    assert pytester.runpytest("--extract-model=a/b").ret == pytest.ExitCode.TESTS_FAILED


def test_what_is_only_listed_or_replayed_needs_no_extractor_that_sees_it(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HEAD + FIXTURE.format("") + EXTRACTORS["inner"])
    assert pytester.runpytest("--extract-model=a/b", "--collect-only").ret == pytest.ExitCode.OK
    assert pytester.runpytest("--extract-report=r.jsonl").ret == pytest.ExitCode.TESTS_FAILED
    result = pytester.runpytest("--extract-model=a/b", "--extract-from=r.jsonl")
    assert result.ret != pytest.ExitCode.USAGE_ERROR


@pytest.mark.usefixtures("called_model")
def test_a_model_without_a_provider_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--extract-model=no/such-model")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --extract-model=no/such-model: no model 'no/such-model': litellm knows no*"])
