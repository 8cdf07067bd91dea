"""The built-in extractor: one zero-shot call of a model through litellm.

Its prompt has instructions, schema, question, and the document as a content part.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from pytest_extract.core.results import Failure
from pytest_extract.core.schema.source import map_parts
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.completions import LlmError, Retry, check_call_options, complete
from pytest_extract.extraction.provider_errors import Outage
from pytest_extract.schema_tools.strict import STRICT_VERSION, StrictSchema, strict_schema

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


Mode: TypeAlias = Literal["prompt", "structured"]
MODES: Final[tuple[Mode, ...]] = ("prompt", "structured")
_PREFERRED: Final[Mapping[str, Json]] = MappingProxyType({"temperature": 0.0})
_CONNECTION: Final = frozenset(
    {"api_key", "api_base", "base_url", "api_version", "organization", "headers", "extra_headers"}
)
"""Options of the connection to a model, which do not change its answers: recordings do not depend on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LitellmExtractor:
    """Ask `model` (`PROVIDER/NAME`, as litellm names it) for the JSON of a document.

    mode: `prompt` puts the schema into the prompt; `structured` hands it over as the response format instead, in the
    form that the provider enforces (see `strict_schema`), and gives the answer back in terms of the case's schema.
    options: further options of `litellm.completion` (`temperature`, `max_tokens`, `api_base`, ...).
    Temperature is 0 unless an option says otherwise, or the model takes none: that is told in the results.
    """

    model: str
    mode: Mode = "prompt"
    retry: Retry = field(default_factory=Retry)
    options: Mapping[str, Json] = field(default_factory=dict)
    sleep: Callable[[float], None] = time.sleep
    _outage: Outage = field(default_factory=Outage, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"no extraction mode {self.mode!r}{nearest(self.mode, MODES)}")
        check_call_options(self.options)
        if self.mode == "structured" and "response_format" in self.options:
            raise ConfigError("options={'response_format': ...}: mode='structured' sets it; leave one of both out")

    def __call__(self, document: Any, schema: Json, question: str | None = None, prompt: object = None) -> Extraction:
        """Return the model's text, or the failure that it met the document with.

        `prompt` (text, or a `Prompt`) replaces the built-in instructions. Raises LlmError when no
        answer came, without secrets in its text, and SchemaError for a schema that cannot be strict, without a call.
        """
        words = None if prompt is None else str(prompt)
        strict: StrictSchema | None = None
        structured: dict[str, Json] = {}
        if self.mode == "structured":
            strict = strict_schema(schema)
            structured = {"response_format": response_format(strict.schema)}
            asked = messages(document, schema, question=question, prompt=words, structured=True)
        else:
            asked = messages(document, schema, question=question, prompt=words)
        try:
            answer = complete(
                self.model,
                asked,
                retry=self.retry,
                preferred=_PREFERRED,
                sleep=self.sleep,
                outage=self._outage,
                **structured,
                **self.options,
            )
        except LlmError as error:
            if error.kind is None:
                raise
            # A request that is declined is not billed; without a known cost a budget would end here.
            return Extraction(None, cost_usd=0.0, failure=Failure(kind=error.kind, message=str(error)))
        return answer if strict is None else _in_terms_of_schema(answer, strict)

    def extract_schema(self, schema: Json) -> Json:
        """Return what of a schema the model sees: recordings stay fresh when only scoring annotations change."""
        return schema_for_model(schema)

    @property
    def extract_params(self) -> Mapping[str, Json]:
        """What of this extractor, besides the model, changes its answers: recordings are kept by it."""
        return {
            "extractor": "litellm",
            "mode": self.mode,
            **({"strict_schema": STRICT_VERSION} if self.mode == "structured" else {}),
            "instructions": PROMPT_VERSION,
            **_PREFERRED,
            **{name: value for name, value in self.options.items() if name not in _CONNECTION},
        }


def _in_terms_of_schema(extraction: Extraction, strict: StrictSchema) -> Extraction:
    """Return what a model answered to a strict schema as the schema has it, and list what the strict one lost."""
    lost = tuple(
        f"structured output is not held to `{keyword}` at {', '.join(pointer or '/' for pointer in pointers)}"
        for keyword, pointers in strict.dropped.items()
    )
    adjusted = replace(extraction, adjustments=(*extraction.adjustments, *lost))
    try:
        answer = json.loads(extraction.output)
        value = strict.restored(answer)
    except (ValueError, RecursionError):  # cut off, refused, or no JSON: scored as it is
        return adjusted
    return adjusted if value == answer else replace(adjusted, output=json.dumps(value, ensure_ascii=False))
