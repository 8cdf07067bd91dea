"""The prompt of the built-in extractor: instructions, schema, question, and the document as a content part."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from pytest_extract.core.schema.source import map_parts
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest

PROMPT_VERSION: Final = 1
"""Raised whenever the words below change: it is one of the parameters that recordings are kept by."""

INSTRUCTIONS: Final = (
    "Read the document and give the data that the JSON Schema describes.\n"
    "Take every value from the document, as it is written there; where the document does not have it, give null or "
    "leave the key out. Give all items of every list.\n"
    "Answer with one JSON value that satisfies the schema, and nothing else: no comment, no code fence."
)
STRUCTURED_INSTRUCTIONS: Final = (
    "Read the document and give its data in the form that is asked for.\n"
    "Take every value from the document, as it is written there; where the document does not have it, give null. "
    "Give all items of every list."
)
_AUDIO_FORMATS: Final = {"wave": "wav", "mpeg": "mp3", "mp4": "m4a"}
"""What requests call the formats that media types call otherwise."""

PLACEHOLDERS: Final = ("document", "document_name", "schema", "question")
"""What a prompt may name in braces: `{schema}` or `{{ schema }}`. What it does not name follows below it."""
_PLACEHOLDER: Final = re.compile(r"(\\?)(\{\{\s*([A-Za-z_]\w*)\s*\}\}|\{([A-Za-z_]\w*)\})")


def prompt_mistakes(prompt: str, *, has_question: bool) -> Iterator[str]:
    """Yield `LINE:COLUMN: what is wrong` of each placeholder of a prompt that nothing can stand for."""
    for found in _PLACEHOLDER.finditer(prompt):
        escaped, whole, name = found[1], found[2], found[3] or found[4]
        problem = ""
        if not escaped and name not in PLACEHOLDERS:
            problem = f"no placeholder {whole}{nearest(name, PLACEHOLDERS)}; for the text itself, write \\{whole}"
        elif not escaped and name == "question" and not has_question:
            problem = f"{whole} stands for the `question` of a case, and there is none"
        if problem:
            before = prompt[: found.start()]
            yield f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}: {problem}"


def messages(
    document: Any, schema: Json, *, question: str | None, prompt: str | None, structured: bool = False
) -> list[dict[str, Json]]:
    """Return the chat messages of one extraction. `prompt` replaces our words, and may have placeholders.

    `structured`: the provider holds the model to the schema, which stands in the prompt only where that names it.
    Raises ConfigError for a placeholder that nothing can stand for.
    """
    template = (STRUCTURED_INSTRUCTIONS if structured else INSTRUCTIONS) if prompt is None else prompt
    for mistake in prompt_mistakes(template, has_question=bool(question)):
        raise ConfigError(f"the prompt, {mistake}")
    attached = attachment(document)
    name = document.path.name if document.path is not None else "document"
    values: dict[str, Callable[[], object]] = {
        "document": lambda: document.text if attached is None else f"(the attached file {name})",
        "document_name": lambda: name,
        "schema": lambda: readable_json(schema_for_model(schema)),
        "question": lambda: question,
    }
    named: set[str] = set()

    def fill(found: re.Match[str]) -> str:
        if found[1]:
            return found[2]
        named.add(found[3] or found[4])
        return str(values[found[3] or found[4]]())

    filled = _PLACEHOLDER.sub(fill, template)
    parts = [filled] if filled.strip() else []
    if not structured and "schema" not in named:
        parts.append(f"JSON Schema:\n{values['schema']()}")
    if question and "question" not in named:
        parts.append(f"Question: {question}")
    if attached is None:
        if "document" not in named:
            parts.append(f"Document:\n{document.text}")
        return [{"role": "user", "content": "\n\n".join(parts)}]
    texts = [{"type": "text", "text": "\n\n".join(parts)}] if parts else []
    return [{"role": "user", "content": [*texts, attached]}]


def readable_json(value: Json) -> str:
    """Return JSON in its own script: a model copies its keys, and escapes would cost tokens and errors."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which neither a request nor a file can hold
        return json.dumps(value, indent=1)
    return text


def attachment(document: Any) -> dict[str, Json] | None:
    """Return the document as a content part (PDF: `file`, image: `image_url`, audio: `input_audio`); None: as text.

    A text that the project gives goes in place of the file, which may hold what was taken out of that text.
    """
    if document.given_text is not None:
        return None
    media_type = document.media_type
    if media_type == "application/pdf":
        name = document.path.name if document.path is not None else "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": document.data_url}}
    if media_type.startswith("image/") and media_type != "image/svg+xml":
        return {"type": "image_url", "image_url": {"url": document.data_url}}
    if media_type.startswith("audio/"):
        data = base64.b64encode(document.bytes).decode("ascii")
        name = media_type.removeprefix("audio/").removeprefix("x-").removeprefix("vnd.")
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS.get(name, name)}}
    return None


def schema_for_model(schema: Json) -> Json:
    """Return the schema without scoring annotations: they are no business of the model, and may hold the answers."""
    if isinstance(schema, dict):
        schema = {key: part for key, part in schema.items() if not _is_annotation(key)}
    return map_parts(schema, schema_for_model)


def response_format(strict: dict[str, Json], name: str = "extraction") -> dict[str, Json]:
    """Return the option `response_format` of a call for a strict schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": strict, "strict": True}}


def _is_annotation(key: str) -> bool:
    return key == "evaluation_config" or key.startswith("x-eval-")
