"""The built-in extractor: one zero-shot call of a model through litellm."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from pytest_extract.core.results import Failure
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, nearest
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.completions import LlmError, Retry, check_call_options, complete
from pytest_extract.extraction.prompt import (
    PROMPT_VERSION,
    messages,
    response_format,
    schema_for_model,
)
from pytest_extract.extraction.provider_errors import Outage
from pytest_extract.schema_tools.strict import STRICT_VERSION, StrictSchema, strict_schema

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
