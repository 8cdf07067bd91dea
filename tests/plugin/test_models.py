"""A model that cannot exist is told before the first case; prices are known without litellm's import."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.litellm import check_model, load_litellm, price, price_table

Write = Callable[..., None]
MODELS = ("openai/gpt-4o", "gpt-4o-mini", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai/made-up")


try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)


@pytest.mark.parametrize("model", MODELS)
def test_prices_are_those_of_litellm(model: str) -> None:
    asked = price(model, 1_000, 100)
    if asked is not None:
        assert asked == pytest.approx(sum(load_litellm().cost_per_token(model, 1_000, 100)))
    assert (asked is None) == (model == "openai/made-up")


@pytest.mark.parametrize("model", [*MODELS, "ollama/mine", "hosted_vllm/a/b", "azure/our-deployment", "openrouter/a/b"])
def test_a_model_of_a_known_provider_may_have_any_name(model: str) -> None:
    check_model(model)


@pytest.mark.parametrize("model", ["gpt4o", "nope/gpt-4o", "opnai/gpt-4o", "/x"])
def test_a_model_of_no_provider_is_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="litellm knows no provider"):
        check_model(model)
    assert capsys.readouterr().out == ""


def test_the_table_is_there() -> None:
    assert len(price_table()) > 1_000


def test_a_run_with_such_a_name_ends_before_the_first_case(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    result = pytester.runpytest("--extract-model=gpt4o")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-model=gpt4o: no model 'gpt4o': *did you mean 'gpt-4o'*"])
    result.stdout.no_fnmatch_line("*broken*")


@pytest.mark.usefixtures("echo")
def test_an_extractor_s_own_names_are_its_own_business(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    pytester.runpytest("--extract-model=house blend").assert_outcomes(passed=1)


def test_a_judge_with_such_a_name_too(pytester: pytest.Pytester, write_case: Write, echo: None) -> None:
    schema = {"type": "object", "properties": {"vendor": {"type": "string", "x-eval-compare": "semantic"}}}
    write_case("a", schema=schema, gold={"vendor": "ACME GmbH"})
    result = pytester.runpytest("--extract-judge-model=gpt4o")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--extract-judge-model=gpt4o: no model 'gpt4o'*"])


def test_a_forecast_does_not_import_litellm(pytester: pytest.Pytester, write_case: Write) -> None:
    write_case("a")
    pytester.makeconftest("import sys\ndef pytest_unconfigure():\n    print('litellm', 'litellm' in sys.modules)\n")
    result = pytester.runpytest_subprocess("--extract-dry-run", "--extract-model=openai/gpt-4o", "-s")
    result.stdout.fnmatch_lines(["cost: about $0.00*", "litellm False"])
