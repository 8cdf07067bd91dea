"""The built-in extractor over real HTTP."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_extract.core.results import FailureKind
from pytest_extract.documents import Document
from pytest_extract.errors import ConfigError, SchemaError
from pytest_extract.extraction.caching_judge import build_judge
from pytest_extract.extraction.call import call_extractor
from pytest_extract.extraction.litellm import LitellmExtractor, LlmError, Retry, messages, schema_for_model
from tests.llm_server import (
    MODEL,
    answer,
    context_length,
    empty,
    filtered,
    llm_server,
    rate_limited,
    refused,
    server_error,
    truncated,
)

__all__ = ["llm_server"]
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}


def document(media_type="text/plain", content=b"Total: 7", name="a.txt"):
    url = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    return SimpleNamespace(
        media_type=media_type,
        bytes=content,
        text=content.decode("latin-1"),
        given_text=None,
        data_url=url,
        path=Path("docs") / name,
    )


def extract(doc=None, schema=SCHEMA, *, prompt=None, question=None, **options):
    extractor = LitellmExtractor(model=MODEL, retry=Retry(attempts=3, timeout_s=20), sleep=lambda _: None, **options)
    return call_extractor(
        extractor, document=doc or document(), schema=schema, question=question, prompt=prompt, model=MODEL, case=None
    )


def test_prompt_mode_sends_instructions_schema_question_and_text(llm_server):
    llm_server.say(answer('{"total": 7}'))
    got = extract(question="What was billed?")
    assert got.output == '{"total": 7}'
    assert (got.finish_reason, got.recorded, got.failure) == ("stop", False, None)
    assert got.usage.total_tokens == 18
    (body,) = llm_server.bodies
    (message,) = body["messages"]
    for part in ("JSON Schema", '"total"', "Question: What was billed?", "Document:\nTotal: 7"):
        assert part in message["content"]
    assert body["temperature"] == 0.0
    assert "response_format" not in body


def test_the_cases_prompt_stands_in_place_of_ours(llm_server):
    extract(prompt="Read it aloud.")
    assert llm_server.bodies[0]["messages"][0]["content"].startswith("Read it aloud.\n\nJSON Schema")


BILL = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "minimum": 0, "x-eval-skip": True},
        "notes": {"type": "string"},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string", "format": "uri"}}},
        },
    },
    "required": ["total", "rows"],
}


def test_structured_mode_sends_a_strict_schema_in_place_of_the_prompt_s(llm_server):
    llm_server.say(answer('{"total": 7, "notes": null, "rows": [{"name": null}, {"name": "Zoë"}]}'))
    got = extract(mode="structured", schema=BILL, question="What was billed?")
    (body,) = llm_server.bodies
    row = {"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "extraction",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {
                    "total": {"type": "number"},
                    "notes": {"type": ["string", "null"]},
                    "rows": {"type": "array", "items": {**row, "additionalProperties": False}},
                },
                "required": ["total", "notes", "rows"],
                "additionalProperties": False,
            },
        },
    }
    (message,) = body["messages"]
    assert "Schema" not in message["content"]
    assert "notes" not in message["content"]
    assert "Question: What was billed?" in message["content"]
    assert "Document:\nTotal: 7" in message["content"]
    assert got.output == '{"total": 7, "rows": [{}, {"name": "Zoë"}]}'
    assert got.adjustments == (
        "structured output is not held to `format` at /properties/rows/items/properties/name",
        "structured output is not held to `minimum` at /properties/total",
    )


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('{"value": [{"total": 1.50}, {"total": null}]}', '[{"total": 1.5}, {}]'),
        ('{"value": [', '{"value": ['),
        ("no JSON", "no JSON"),
    ],
    ids=["whole", "cut off", "none"],
)
def test_a_schema_of_a_list_is_wrapped_for_structured_mode_only(llm_server, text, output):
    llm_server.say(answer(text))
    assert extract(mode="structured", schema={"type": "array", "items": SCHEMA}).output == output


def test_an_answer_that_needs_no_change_stays_as_it_was_written(llm_server):
    llm_server.say(answer('{ "total": 7.10 }'))
    assert extract(mode="structured").output == '{ "total": 7.10 }'


def test_a_schema_that_cannot_be_strict_is_an_error_without_a_call(llm_server):
    schema = {"type": "object", "properties": {"meta": {"type": "object", "additionalProperties": True}}}
    with pytest.raises(SchemaError, match="at /properties/meta: an object with any keys"):
        extract(mode="structured", schema=schema)
    assert llm_server.requests == []


PARTS = {
    "pdf": (
        document("application/pdf", b"%PDF", "a.pdf"),
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ),
    "image": (
        document("image/png", b"PNG"),
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
    ),
    "audio": (
        document("audio/x-wav", b"RIFF"),
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ),
}


@pytest.mark.parametrize(("doc", "part"), PARTS.values(), ids=PARTS)
def test_a_document_goes_as_the_providers_own_part(llm_server, doc, part):
    extract(doc)
    text, sent = llm_server.bodies[0]["messages"][0]["content"]
    assert sent == part
    assert "Document:" not in text["text"]


@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.wav"])
def test_a_text_that_the_project_gives_goes_in_place_of_the_file(llm_server, name):
    doc = Document(Path("nowhere") / name)
    doc.read_by(lambda _: "Total: 7 of [name]")
    llm_server.say(answer("{}"))
    extract(doc, prompt="Read {document}.")
    assert llm_server.bodies[0]["messages"][0]["content"].startswith("Read Total: 7 of [name].")


def test_svg_goes_as_text(llm_server):
    extract(document("image/svg+xml", b"<svg/>"))
    assert llm_server.bodies[0]["messages"][0]["content"].endswith("Document:\n<svg/>")


FAILURES = {
    "empty": (empty(), FailureKind.EMPTY_RESPONSE, "finish reason: stop"),
    "thoughts": (
        answer(None, reasoning_content='{"a": 1}'),
        FailureKind.EMPTY_RESPONSE,
        "stands in `reasoning_content`",
    ),
    "tool": (
        answer(None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "save", "arguments": "{}"}}]),
        FailureKind.EMPTY_RESPONSE,
        "stands in `tool_calls`",
    ),
    "refused": (refused("Not this one."), FailureKind.REFUSAL, "Not this one."),
    "filtered": (filtered(), FailureKind.REFUSAL, "content filter"),
    "context length": (context_length(), FailureKind.CONTEXT_LENGTH, "8192 tokens"),
}


@pytest.mark.parametrize(("reply", "kind", "message"), FAILURES.values(), ids=FAILURES)
def test_what_the_model_declines_is_a_failure_of_the_output(llm_server, reply, kind, message):
    llm_server.say(reply)
    failure = extract().failure
    assert failure.kind is kind
    assert message in failure.message
    assert len(llm_server.requests) == 1


def test_a_cut_off_answer_keeps_its_finish_reason(llm_server):
    llm_server.say(truncated('{"total": '))
    got = extract()
    assert (got.output, got.finish_reason, got.failure) == ('{"total": ', "length", None)


def test_limits_and_outages_are_sat_out(llm_server):
    llm_server.say(rate_limited(1), server_error(), answer('{"total": 7}'))
    assert extract().output == '{"total": 7}'


def test_an_outage_is_an_error_and_no_output(llm_server):
    llm_server.otherwise = server_error()
    with pytest.raises(LlmError, match="after 3 attempts"):
        extract()


def test_an_unknown_mode_is_refused():
    with pytest.raises(ConfigError, match="did you mean 'structured'"):
        LitellmExtractor(model=MODEL, mode="structred")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"timeout": 10}, r"'timeout': .*retry=Retry\(timeout_s"),
        ({"max_retries": 2}, r"'max_retries': .*retry=Retry\(timeout_s"),
        ({"num_retries": 2}, r"'num_retries': .*retry=Retry\(timeout_s"),
        ({"messages": []}, "'messages': .*by itself"),
        ({"stream": True}, "'stream': .*as a whole"),
        ({"response_format": {"type": "json_object"}}, "'response_format': .*structured"),
    ],
)
def test_an_option_that_the_call_sets_itself_is_refused(options, told):
    with pytest.raises(ConfigError, match=told):
        LitellmExtractor(model=MODEL, mode="structured", options=options)
    if "response_format" not in options:
        with pytest.raises(ConfigError, match=told):
            build_judge(model=MODEL, options=options)


def test_parameters_name_what_changes_answers_and_no_secret():
    extractor = LitellmExtractor(model=MODEL, options={"api_key": "k", "max_tokens": 9, "temperature": 0.5})
    assert extractor.extract_params == {
        "extractor": "litellm",
        "mode": "prompt",
        "instructions": 1,
        "temperature": 0.5,
        "max_tokens": 9,
    }


def test_the_model_sees_no_scoring_annotations():
    schema = {
        "evaluation_config": "skip",
        "x-eval-align": {"mode": "key"},
        "properties": {
            "evaluation_config": {"type": "string", "x-eval-compare": {"oneof": ["secret"]}, "enum": ["x-eval-a"]},
            "rows": {"type": "array", "items": [{"evaluation_config": "number_exact", "type": "number"}]},
        },
        "$defs": {"x-eval-skip": {"type": "null"}},
    }
    assert schema_for_model(schema) == {
        "properties": {
            "evaluation_config": {"type": "string", "enum": ["x-eval-a"]},
            "rows": {"type": "array", "items": [{"type": "number"}]},
        },
        "$defs": {"x-eval-skip": {"type": "null"}},
    }


@pytest.mark.parametrize(
    ("key", "shown"), [("\u59d3\u540d", '"\u59d3\u540d"'), ("odd\ud800", '"odd\\ud800"')], ids=["script", "half a pair"]
)
def test_a_schema_is_shown_in_its_own_script(key, shown):
    schema = {"type": "object", "properties": {key: {"type": "string"}}}
    (message,) = messages(document(), schema, question=None, prompt=None)
    assert shown in message["content"]
    message["content"].encode()  # can be sent


def content(prompt, *, doc=None, question=None, structured=False):
    (message,) = messages(doc or document(), SCHEMA, question=question, prompt=prompt, structured=structured)
    return message["content"]


@pytest.mark.parametrize("braces", ["{%s}", "{{ %s }}", "{{%s}}"])
def test_a_prompt_says_where_things_stand_and_they_stand_there_once(braces):
    prompt = (
        "From "
        + " / ".join(braces % name for name in ("document_name", "document", "question"))
        + " by "
        + braces % "schema"
    )
    hostile = document(content=b"Total: 7 {schema} {{question}}")
    sent = content(prompt, doc=hostile, question="How much?")
    assert sent.startswith("From a.txt / Total: 7 {schema} {{question}} / How much? by {\n")
    assert (sent.count("Total: 7"), sent.count("How much?"), sent.count('"total"')) == (1, 1, 1)
    assert "Document:" not in sent


def test_an_empty_prompt_stands_in_place_of_ours():
    assert content("\n", doc=document()).startswith("JSON Schema:")


def test_what_a_prompt_does_not_name_follows_below_it():
    assert content("Read {document}.", question="Why?").split("\n\n")[1:] == [
        content("x").split("\n\n")[1],
        "Question: Why?",
    ]
    assert content("Read it.", structured=True) == "Read it.\n\nDocument:\nTotal: 7"
    assert '"total"' in content("Give {schema}", structured=True)
    text, attached = content("Read {document}.", doc=document("application/pdf", b"%PDF", "a.pdf"))
    assert text["text"].startswith("Read (the attached file a.pdf).")
    assert attached["type"] == "file"


def test_braces_that_are_no_placeholder_stay():
    prompt = 'Such as {"total": 7}, {}, { }, a{2}, \\{document} and \\{{schema}}.'
    assert content(prompt).startswith('Such as {"total": 7}, {}, { }, a{2}, {document} and {{schema}}.')


@pytest.mark.parametrize(
    ("prompt", "mistake"),
    [
        ("Read\nthe {documnet}.", r"the prompt, 2:5: no placeholder {documnet}; did you mean 'document'\?"),
        ("{{ schema_str }}", r"1:1: no placeholder {{ schema_str }}.*; for the text itself, write \\{{ schema_str }}"),
        ("Answer {question}", r"1:8: {question} stands for the `question` of a case, and there is none"),
    ],
)
def test_a_placeholder_that_nothing_stands_for_is_never_sent(llm_server, prompt, mistake):
    with pytest.raises(ConfigError, match=mistake):
        extract(prompt=prompt)
    assert llm_server.bodies == []
