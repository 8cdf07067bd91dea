from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_extract.errors import ConfigError
from pytest_extract.extraction.llm.client import load_litellm
from tests.llm_server import (
    MODEL,
    LlmServer,
    answer,
    context_length,
    dripping,
    empty,
    failed,
    llm_server,
    refused,
    truncated,
)
from tests.plugin.conftest import GOLD

__all__ = ["llm_server"]
try:
    load_litellm()  # once, not in every inner run
except ConfigError as missing:
    pytest.skip(str(missing), allow_module_level=True)
pytestmark = pytest.mark.usefixtures("called_model")
Write = Callable[..., None]


@pytest.mark.parametrize(
    ("reply", "outcome", "text"),
    [
        pytest.param(answer(json.dumps(GOLD)), "passed", "tokens: 11 in, 7 out; cost: *", id="good"),
        pytest.param(answer(f"Here:\n```json\n{json.dumps(GOLD)}\n```"), "passed", "1 case: 1 passed*", id="fenced"),
        pytest.param(empty(), "failed", "  empty_response: *", id="empty"),
        pytest.param(truncated('{"vendor": "AC'), "failed", "  truncated_json at line 1, column *", id="truncated"),
        pytest.param(refused("I cannot"), "failed", "  refusal: *I cannot*", id="refused"),
        pytest.param(context_length(), "failed", "  context_length:*", id="context-length"),
        pytest.param(
            failed(400, "Invalid schema for response_format 'extraction'"), "failed", "  schema_rejected:*", id="schema"
        ),
        pytest.param(failed(401, "Incorrect API key"), "failed", "BROKEN: *", id="no-access"),
    ],
)
def test_a_model_is_called_where_there_is_no_extractor(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, reply: object, outcome: str, text: str
) -> None:
    llm_server.otherwise = reply  # type: ignore[assignment]
    write_case("acme", "Invoice of ACME")
    result = pytester.runpytest(f"--extract-model={MODEL}")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([text])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert "Invoice of ACME" in json.dumps(llm_server.bodies[0]["messages"])


def test_structured_mode_hands_over_the_schema(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.otherwise = answer(json.dumps(GOLD))
    write_case("acme")
    pytester.runpytest(f"--extract-model={MODEL}", "--extract-mode=structured").assert_outcomes(passed=1)
    assert llm_server.bodies[0]["response_format"]["type"] == "json_schema"


def test_a_project_s_extractor_goes_before_the_built_in_one(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, echo: None
) -> None:
    write_case("acme")
    pytester.runpytest(f"--extract-model={MODEL}").assert_outcomes(passed=1)
    assert llm_server.bodies == []


def test_a_slow_attempt_ends_after_extract_timeout_and_the_next_counts(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer
) -> None:
    llm_server.say(dripping(0.5, answer(json.dumps(GOLD))))
    llm_server.otherwise = answer(json.dumps(GOLD))
    write_case("acme")
    result = pytester.runpytest(f"--extract-model={MODEL}", "--extract-timeout=2.5")
    result.assert_outcomes(passed=1)
    assert len(llm_server.requests) == 2
    assert result.duration < 60, "the first answer takes minutes"


IMPORTED_BY = """
import sys, threading

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            print("\\nlitellm imported by", threading.current_thread().name)

sys.meta_path.insert(0, Watch())
"""


def test_what_calls_need_is_imported_in_pytests_own_thread(
    pytester: pytest.Pytester, write_case: Write, llm_server: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first case is replayed while the next is called ahead; the import must not meet the filters between them."""
    llm_server.otherwise = answer(json.dumps(GOLD))
    write_case("a")
    pytester.runpytest(f"--extract-model={MODEL}", "--extract-record=once").assert_outcomes(passed=1)
    write_case("b", "another document")
    pytester.makeconftest(IMPORTED_BY)
    for name, value in llm_server.env.items():
        monkeypatch.setenv(name, value)
    result = pytester.runpytest_subprocess(f"--extract-model={MODEL}", "--extract-record=once", "-s", "-Werror")
    result.assert_outcomes(passed=2)
    looked_up = {line for line in result.outlines if "litellm imported by" in line}  # by the import, and before it
    assert looked_up == {"litellm imported by MainThread"}
