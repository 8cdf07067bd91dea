"""The tokens of a call: as its provider reports them, and estimated from its texts where the provider does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_extract.core.case_result import Usage
from pytest_extract.core.values import Json

_BYTES_PER_TOKEN: Final = 4
"""The usual figure for English text and JSON; a script with more bytes a character has fewer characters a token."""
ATTACHMENT_TOKENS: Final = 1_500
"""Tokens counted for a document that is no text (a page or an image, a minute of audio)."""


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def message_tokens(messages: Iterable[Mapping[str, Json]]) -> int:
    """Estimate the tokens of chat messages."""
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    return sum(_part_tokens(part) for part in parts)


def reported_usage(usage: Any, text: str) -> Usage | None:
    """Read the tokens that a provider reports; None where it says nothing of them.

    Where a server leaves them out, clients give zeros. A prompt is never empty, nor is the answer that holds `text`.
    """
    prompt = getattr(usage, "prompt_tokens", None) or None
    completion = getattr(usage, "completion_tokens", None)
    completion = None if not completion and text else completion
    total = getattr(usage, "total_tokens", None) or None
    if prompt is None and not completion and total is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)


def _part_tokens(part: Json) -> int:
    if isinstance(part, str):
        return text_tokens(part)
    if isinstance(part, dict):
        text = part.get("text")
        return text_tokens(text) if isinstance(text, str) else ATTACHMENT_TOKENS
    return 0
