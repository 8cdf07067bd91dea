"""The built-in extractor over real HTTP."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_extract.core.results import FailureKind
from pytest_extract.documents import Document
from pytest_extract.errors import ConfigError
from pytest_extract.extraction.caching_judge import build_judge
from pytest_extract.extraction.call import call_extractor
from pytest_extract.extraction.litellm import LitellmExtractor, Retry, messages, schema_for_model
from tests.llm_server import MODEL, answer, context_length, empty, filtered, refused

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}}


def document(media_type="text/plain", content=b"Total: 7", name="a.txt"):
    url = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    text = content.decode("latin-1")
    path = Path("docs") / name
    return SimpleNamespace(media_type=media_type, bytes=content, text=text, given_text=None, data_url=url, path=path)


def extract(doc=None, schema=SCHEMA, *, prompt=None, question=None, **options):
    extractor = LitellmExtractor(model=MODEL, retry=Retry(attempts=3, timeout_s=20), **options)
    given = {"document": doc or document(), "schema": schema, "question": question, "prompt": prompt}
    return call_extractor(extractor, **given, model=MODEL, case=None)


def content(prompt=None, *, doc=None, schema=SCHEMA, question=None, structured=False):
    (message,) = messages(doc or document(), schema, question=question, prompt=prompt, structured=structured)
    return message["content"]


def test_prompt_mode_sends_instructions_schema_question_and_text(llm_server):
    llm_server.say(answer('{"total": 7}'))
    got = extract(question="What was billed?")
    assert (got.output, got.finish_reason, got.recorded, got.failure) == ('{"total": 7}', "stop", False, None)
    assert got.usage.total_tokens == 18
    (body,) = llm_server.bodies
    (message,) = body["messages"]
    for part in ("JSON Schema", '"total"', "Question: What was billed?", "Document:\nTotal: 7"):
        assert part in message["content"]
    assert body["temperature"] == 0.0
    assert "response_format" not in body


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


def strict(**properties):
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def test_structured_mode_sends_a_strict_schema_in_place_of_the_prompt_s(llm_server):
    llm_server.say(answer('{"total": 7, "notes": null, "rows": [{"name": null}, {"name": "Zoë"}]}'))
    got = extract(mode="structured", schema=BILL, question="What was billed?")
    (body,) = llm_server.bodies
    optional = {"type": ["string", "null"]}
    rows = {"type": "array", "items": strict(name=optional)}
    schema = strict(total={"type": "number"}, notes=optional, rows=rows)
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "extraction", "strict": True, "schema": schema},
    }
    (message,) = body["messages"]
    assert "Schema" not in message["content"]
    assert "notes" not in message["content"]
    assert message["content"].endswith("Question: What was billed?\n\nDocument:\nTotal: 7")
    assert got.output == '{"total": 7, "rows": [{}, {"name": "Zoë"}]}'
    assert got.adjustments == (
        "structured output is not held to `format` at /properties/rows/items/properties/name",
        "structured output is not held to `minimum` at /properties/total",
    )


LIST = {"type": "array", "items": SCHEMA}


@pytest.mark.parametrize(
    ("schema", "text", "output"),
    [
        (LIST, '{"value": [{"total": 1.50}, {"total": null}]}', '[{"total": 1.5}, {}]'),  # wrapped for the provider
        (LIST, '{"value": [', '{"value": ['),
        (LIST, "no JSON", "no JSON"),
        (SCHEMA, '{ "total": 7.10 }', '{ "total": 7.10 }'),  # nothing to change, so as it was written
    ],
)
def test_an_answer_to_a_strict_schema_is_given_in_terms_of_the_cases_own(llm_server, schema, text, output):
    llm_server.say(answer(text))
    assert extract(mode="structured", schema=schema).output == output


PDF = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}
PARTS = {
    "file": (document("application/pdf", b"%PDF", "a.pdf"), PDF),
    "image_url": (document("image/png", b"PNG"), {"url": "data:image/png;base64,UE5H"}),
    "input_audio": (document("audio/x-wav", b"RIFF"), {"data": "UklGRg==", "format": "wav"}),
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_document_goes_as_the_providers_own_part(llm_server, kind):
    doc, part = PARTS[kind]
    extract(doc)
    text, sent = llm_server.bodies[0]["messages"][0]["content"]
    assert sent == {"type": kind, kind: part}
    assert "Document:" not in text["text"]


@pytest.mark.parametrize("name", ["a.pdf", "a.png", "a.wav"])
def test_a_text_that_the_project_gives_goes_in_place_of_the_file(llm_server, name):
    doc = Document(Path("nowhere") / name)
    doc.read_by(lambda _: "Total: 7 of [name]")
    extract(doc, prompt="Read {document}.")
    assert llm_server.bodies[0]["messages"][0]["content"].startswith("Read Total: 7 of [name].")


def test_svg_goes_as_text():
    assert content(doc=document("image/svg+xml", b"<svg/>")).endswith("Document:\n<svg/>")


CALLED = [{"id": "1", "type": "function", "function": {"name": "save", "arguments": "{}"}}]
FAILURES = {
    "empty": (empty(), FailureKind.EMPTY_RESPONSE, "finish reason: stop"),
    "thoughts": (answer(None, reasoning_content="{}"), FailureKind.EMPTY_RESPONSE, "stands in `reasoning_content`"),
    "tool": (answer(None, tool_calls=CALLED), FailureKind.EMPTY_RESPONSE, "stands in `tool_calls`"),
    "refused": (refused("Not this one."), FailureKind.REFUSAL, "Not this one."),
    "filtered": (filtered(), FailureKind.REFUSAL, "content filter"),
    "context length": (context_length(), FailureKind.CONTEXT_LENGTH, "8192 tokens"),
}


@pytest.mark.parametrize(("reply", "kind", "message"), FAILURES.values(), ids=FAILURES)
def test_what_the_model_declines_is_a_failure_of_the_output(llm_server, reply, kind, message):
    llm_server.say(reply)
    failure = extract().failure
    assert (failure.kind, len(llm_server.requests)) == (kind, 1)
    assert message in failure.message


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


def test_an_unknown_mode_is_refused():
    with pytest.raises(ConfigError, match="did you mean 'structured'"):
        LitellmExtractor(model=MODEL, mode="structred")


def test_parameters_name_what_changes_answers_and_no_secret():
    extractor = LitellmExtractor(model=MODEL, options={"api_key": "k", "max_tokens": 9, "temperature": 0.5})
    of_options = {"temperature": 0.5, "max_tokens": 9}
    assert extractor.extract_params == {"extractor": "litellm", "mode": "prompt", "instructions": 1, **of_options}


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
    sent = content(schema={"type": "object", "properties": {key: {"type": "string"}}})
    assert shown in sent
    sent.encode()  # can be sent


# --- the case's own prompt


@pytest.mark.parametrize("braces", ["{%s}", "{{ %s }}", "{{%s}}"])
def test_a_prompt_says_where_things_stand_and_they_stand_there_once(braces):
    named = [braces % name for name in ("document_name", "document", "question", "schema")]
    hostile = document(content=b"Total: 7 {schema} {{question}}")
    sent = content("From " + " / ".join(named), doc=hostile, question="How much?")
    assert sent.startswith("From a.txt / Total: 7 {schema} {{question}} / How much? / {\n")
    assert (sent.count("Total: 7"), sent.count("How much?"), sent.count('"total"')) == (1, 1, 1)
    assert "Document:" not in sent


def test_a_prompt_stands_in_place_of_ours_and_what_it_does_not_name_follows_below_it():
    assert content("Read it aloud.").startswith("Read it aloud.\n\nJSON Schema:\n{")
    assert content("\n").startswith("JSON Schema:")
    assert content("Read {document}.", question="Why?").endswith("}\n\nQuestion: Why?")
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
