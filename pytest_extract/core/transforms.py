"""The one table of transforms: what is done to both values before they are compared.

Null passes through every one but `null_if`. A value of the wrong type raises ValueError that says why;
scoring then leaves the value as it is and the mismatch carries the reason.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

from pytest_extract.core.arguments import plain_json
from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics.base import Param, Params, TransformSpec
from pytest_extract.core.values import Json, a_type, fold_case, short_json

Function = Callable[[Json], Json]


def _of(name: str, wanted: str, kinds: type | tuple[type, ...], change: Callable[[Any], Json]) -> Function:
    """Make a transform of values of some types that `change` takes; null stays null."""

    def transform(value: Json) -> Json:
        if value is None:
            return None
        with suppress(ValueError, TypeError, OverflowError, KeyError):
            if isinstance(value, kinds):
                return change(value)
        raise ValueError(f"{name} needs {wanted}, got {a_type(value)}: {short_json(value)}")

    return transform


def _text_row(name: str, change: Callable[[str], str], doc: str, before: str, after: str) -> TransformSpec:
    transform = _of(name, "a string", str, change)
    return TransformSpec(name=name, make=lambda _params: transform, doc=doc, examples=((before, after, {}),))


def _digits_only(text: str) -> str:
    return "".join(str(unicodedata.decimal(c)) for c in text if c.isdecimal())


_TEXT_ROWS = (
    _text_row("lowercase", str.lower, "Lower case (Python's `lower`).", "ACME", "acme"),
    _text_row("strip", str.strip, "White space at both ends is removed.", " a b ", "a b"),
    _text_row("normalize_whitespace", lambda text: " ".join(text.split()), "White space is folded.", " a\n b", "a b"),
    _text_row("sort_tokens", lambda text: " ".join(sorted(text.split())), "Words are sorted.", "b  a", "a b"),
    _text_row("digits_only", _digits_only, "Only decimal digits are kept.", "VAT: DE-123 456", "123456"),
)


# --- with parameters


@TransformSpec.row(
    "round_digits",
    (2.675, 2.67, {"digits": 2}),
    (1250, 1200, {"digits": -2}),
    params=(Param(name="digits", check=check.integer(-400, 400), required=True, doc="number of decimal places"),),
)
def _round_digits(params: Params) -> Function:
    """Numbers are rounded to `digits` decimal places (Python's `round`: the binary value, half to even)."""
    digits = int(params["digits"])
    return _of("round_digits", "a number", (int, float), lambda value: round(value, digits))


def _to_bool(value: Json) -> bool:
    return {"0": False, "1": True, "false": False, "true": True}[str(value).strip().lower()]


_CONVERSIONS: Mapping[str, Function] = {"float": float, "int": int, "str": str, "bool": _to_bool}


@TransformSpec.row(
    "type_convert",
    ("1.50", 1.5, {"to": "float"}),
    (7.9, 7, {"to": "int"}),
    (" TRUE ", True, {"to": "bool"}),
    params=(Param(name="to", check=check.choice(tuple(_CONVERSIONS)), required=True, doc="float, int, str or bool"),),
)
def _type_convert(params: Params) -> Function:
    """Python's conversion to float, int, str or bool (0, 1, "true", "false")."""
    wanted = str(params["to"])
    convert = _CONVERSIONS[wanted]
    return _of("type_convert", f"a value that can become {wanted}", object, lambda value: plain_json(convert(value)))


def _check_table(value: Json) -> str | None:
    return None if isinstance(value, dict) and value else "must be a mapping from texts to values"


@TransformSpec.row(
    "map_values",
    ("yes", True, {"values": {"Yes": True, "No": False}}),
    ("maybe", "maybe", {"values": {"Yes": True}}),
    params=(Param(name="values", check=_check_table, required=True, doc="mapping from texts to values"),),
)
def _map_values(params: Params) -> Function:
    """Strings found in `values` (caseless, white space folded) become what stands there; others stay."""
    table = {fold_case(key): new for key, new in params["values"].items()}
    return lambda value: table.get(fold_case(value), value) if isinstance(value, str) else value


_BLANK = ["", "-", "n/a", "na", "none", "null"]


@TransformSpec.row(
    "null_if",
    ("N/A", None, {}),
    ("0", "0", {}),
    params=(Param(name="values", check=check.list_of(check.any_text), default=_BLANK, doc="texts that mean nothing"),),
)
def _null_if(params: Params) -> Function:
    """Strings that stand for nothing (caseless) become null."""
    return _map_values.make({"values": dict.fromkeys(params["values"])})


_ROWS = (*_TEXT_ROWS, _round_digits, _type_convert, _map_values, _null_if)
TRANSFORMS: Final[Mapping[str, TransformSpec]] = MappingProxyType({spec.name: spec for spec in _ROWS})
"""Every built-in transform."""
