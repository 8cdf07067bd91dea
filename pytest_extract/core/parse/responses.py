"""Knows what clients of models return around the text of an answer: a mistake of code that hands it on as an output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from pytest_extract.core.values import MISSING


class _Response(NamedTuple):
    """What a response has: places that are there, or that hold a certain value; and what to return in its stead.

    `whole`: it is the body of an answer, which a text may hold as well; what is not may come from the model itself.
    """

    fix: str
    places: Sequence[str]
    holds: Mapping[str, str] = {}
    whole: bool = True


_SHAPES: Final = (
    _Response(
        "json.loads(response.choices[0].message.tool_calls[0].function.arguments)",
        ["choices.0.message.tool_calls.0.function.arguments"],
    ),
    _Response("response.choices[0].message.content", ["choices.0.message.content"]),
    _Response("response.choices[0].message.content, of a call without stream=True", ["choices.0.delta"]),
    _Response("response.choices[0].text", ["choices.0.text", "choices.0.finish_reason"]),
    _Response("response.output_text", ["output"], {"object": "response"}),
    _Response("the `input` of its block of type `tool_use`", ["content.0.input"], {"type": "message"}),
    _Response("response.content[0].text", ["content.0.type"], {"type": "message"}),
    _Response("response.text", ["candidates.0.content.parts"]),
    _Response('response["output"]["message"]["content"][0]["text"]', ["output.message.content.0", "stopReason"]),
    _Response("response.message.content[0].text", ["message.content.0.text", "finish_reason"]),
    _Response("response.message.content", ["message.content", "done"]),
    _Response("response.response", ["response", "done", "model"]),
    _Response("message.content", ["content", "response_metadata"], whole=False),
    _Response("result.output", ["output", "all_messages"], whole=False),
    _Response("message.content", ["content"], {"role": "assistant"}, whole=False),
    _Response("json.loads(tool_call.function.arguments)", ["function.name", "function.arguments"], whole=False),
    _Response("json.loads(tool_calls[0].function.arguments)", ["0.function.name", "0.function.arguments"], whole=False),
    _Response("its `input`", ["input", "name"], {"type": "tool_use"}, whole=False),
)


def response_in(value: object, *, whole: bool = False) -> str | None:
    """Return the expression for the answer in a client's response, an object or its JSON; None for anything else.

    `whole`: only the body of an answer counts, and no message or tool call, which a model may write itself.
    """
    if isinstance(value, str | bytes):
        try:
            body = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return response_in(body, whole=True) if isinstance(body, dict) else None
    if not isinstance(value, Mapping | Sequence) and _has(value, ["status_code", "headers", "text"]):
        return "response.text"
    for shape in _SHAPES:
        holds = all(_at(value, place) == wanted for place, wanted in shape.holds.items())
        if holds and _has(value, shape.places) and (shape.whole or not whole):
            return shape.fix
    return None


def _has(value: object, places: Iterable[str]) -> bool:
    return all(_at(value, place) is not MISSING for place in places)


def _at(value: Any, place: str) -> Any:
    """Return what stands at a dotted place of mappings, lists and objects; MISSING where nothing does."""
    for step in place.split("."):
        if isinstance(value, Mapping):
            value = value.get(step, MISSING)
        elif step.isdecimal():
            listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
            value = value[int(step)] if listed and int(step) < len(value) else MISSING
        elif isinstance(value, str | bytes | int | float | Sequence):
            return MISSING
        else:
            with suppress(Exception):  # a client's property may compute, and fail
                value = getattr(value, step, MISSING)
                continue
            return MISSING
    return value
