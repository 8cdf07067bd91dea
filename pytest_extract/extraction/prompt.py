"""The prompt of the built-in extractor: instructions, schema, question, and the document as a content part."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from pytest_extract.core.schema.subschemas import map_parts
from pytest_extract.core.values import Json

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
_AUDIO_FORMATS: Final[Mapping[str, str]] = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "ogg",
    "audio/aac": "aac",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
}


def messages(document: Any, schema: Json, *, question: str | None, prompt: str | None) -> list[dict[str, Json]]:
    """Return the chat messages of one extraction in which the model reads the schema. `prompt` replaces our words."""
    return _messages(
        document, [prompt or INSTRUCTIONS, f"JSON Schema:\n{_written(schema_for_model(schema))}"], question
    )


def structured_messages(document: Any, *, question: str | None, prompt: str | None) -> list[dict[str, Json]]:
    """Return the chat messages of one extraction in which the provider holds the model to the schema."""
    return _messages(document, [prompt or STRUCTURED_INSTRUCTIONS], question)


def _messages(document: Any, parts: list[str], question: str | None) -> list[dict[str, Json]]:
    if question:
        parts.append(f"Question: {question}")
    attached = attachment(document)
    if attached is None:
        parts.append(f"Document:\n{document.text}")
        return [{"role": "user", "content": "\n\n".join(parts)}]
    return [{"role": "user", "content": [{"type": "text", "text": "\n\n".join(parts)}, attached]}]


def _written(schema: Json) -> str:
    """Return a schema's JSON in its own script: a model copies its keys, and escapes would cost tokens and errors."""
    text = json.dumps(schema, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which no request can carry
        return json.dumps(schema, indent=1)
    return text


def attachment(document: Any) -> dict[str, Json] | None:
    """Return the document as a content part (PDF: `file`, image: `image_url`, audio: `input_audio`); None: as text."""
    media_type = document.media_type
    if media_type == "application/pdf":
        name = document.path.name if document.path is not None else "document.pdf"
        return {"type": "file", "file": {"filename": name, "file_data": document.data_url}}
    if media_type.startswith("image/") and media_type != "image/svg+xml":
        return {"type": "image_url", "image_url": {"url": document.data_url}}
    if media_type.startswith("audio/"):
        data = base64.b64encode(document.bytes).decode("ascii")
        known = _AUDIO_FORMATS.get(media_type, media_type.removeprefix("audio/"))
        return {"type": "input_audio", "input_audio": {"data": data, "format": known}}
    return None


def schema_for_model(schema: Json) -> Json:
    """Return the schema without scoring annotations: they are no business of the model, and may hold the answers."""
    if isinstance(schema, dict):
        schema = {key: part for key, part in schema.items() if not _is_annotation(key)}
    return map_parts(schema, schema_for_model)


def response_format(strict: dict[str, Json]) -> dict[str, Json]:
    """Return the `response_format` of structured mode for a strict schema."""
    return {"type": "json_schema", "json_schema": {"name": "extraction", "schema": strict, "strict": True}}


def _is_annotation(key: str) -> bool:
    return key == "evaluation_config" or key.startswith("x-eval-")
