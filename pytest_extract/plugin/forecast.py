"""`--extract-dry-run`: a guess at what one call costs, from the sizes of what goes in and what should come out."""

from __future__ import annotations

import json
from typing import Final

from pytest_extract.cases.model import Case
from pytest_extract.core.values import canonical_json
from pytest_extract.documents import DocumentError

CHARACTERS_PER_TOKEN: Final = 4
"""A usual figure for English text and JSON; a forecast needs no better."""
IMAGE_TOKENS: Final = 1_500
"""Tokens counted for a document without text (an image, audio)."""
INSTRUCTION_TOKENS: Final = 300


def call_price(case: Case, model: str | None) -> float | None:
    """Guess the cost of one call in USD; None when the model is unknown or has no price."""
    if model is None:
        return None
    from pytest_extract.extraction.llm.client import price

    completion = len(canonical_json(case.gold)) // CHARACTERS_PER_TOKEN
    return price(model, _prompt_tokens(case), completion)


def _prompt_tokens(case: Case) -> int:
    try:
        document = len(case.document.text) // CHARACTERS_PER_TOKEN
    except DocumentError:
        document = IMAGE_TOKENS
    prompt = len(case.prompt.text) if case.prompt is not None else 0
    return document + INSTRUCTION_TOKENS + (len(json.dumps(case.schema)) + prompt) // CHARACTERS_PER_TOKEN
