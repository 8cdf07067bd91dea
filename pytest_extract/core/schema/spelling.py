"""Keys of a schema that are slips of a known one: they would be ignored, and what they say with them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from pytest_extract.core.schema.annotations import RULES_KEYWORD, X_EVAL, X_KEYWORDS
from pytest_extract.core.schema.source import escape, schema_objects
from pytest_extract.core.values import Json
from pytest_extract.errors import SchemaError

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_SCHEMA: Final = (dict, bool)
_HOLDS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("$ref", "$id", "id", "$schema", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment"), (str,)),
    **dict.fromkeys(("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"), (str,)),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), (dict,)),
    **dict.fromkeys(("dependentRequired", "dependencies", "$vocabulary"), (dict,)),
    **dict.fromkeys(("additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"), _SCHEMA),
    **dict.fromkeys(("contains", "propertyNames", "not", "if", "then", "else", "contentSchema"), _SCHEMA),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems", "enum", "required", "examples"), (list,)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (int, float)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"), (int,)),
    **dict.fromkeys(("minProperties", "maxProperties"), (int,)),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"), (bool,)),
    **dict.fromkeys(("const", "default", RULES_KEYWORD, *X_KEYWORDS), (object,)),
    "type": (str, list),
    "items": (dict, bool, list),
    "evaluation_config": (str, dict),
}
"""Keyword -> types of what may stand there. A key that holds something else is no slip of it."""
_OF_OTHERS: Final = frozenset(
    (
        "example", "discriminator", "xml", "externalDocs", "propertyOrdering", "$recursiveRef", "$recursiveAnchor",
        "extends", "disallow", "divisibleBy", "comment", "comments", "container", "schema",
    )
)  # fmt: skip
"""Keys of other drafts, OpenAPI and Gemini, and those that many write for their own use."""
_SHORT: Final = 5
"""Letters up to which one edit makes a slip: many words are two edits from a short one."""


def misspelled_keys(schema: Json, *, as_published: bool) -> Iterator[SchemaError]:
    """Yield an error for each unknown `x-eval-*`, and for each key a letter or two beside a keyword.

    Names of properties and definitions are no keys of a schema, nor are those inside an example, a constant or the
    value of an unknown key. A name that a reference leads through is a place of definitions.
    `as_published`: only a slip of a known `x-eval-*` is an error, as the published program takes any other key.
    """
    annotations = [known.removeprefix(X_EVAL) for known in (*X_KEYWORDS, RULES_KEYWORD)]
    references: list[str] = []
    found: list[tuple[str, str, str]] = []
    for pointer, part in schema_objects(schema):
        if isinstance(ref := part.get("$ref"), str):
            references.append(ref)
        for name, value in part.items():
            key = str(name)  # of a schema made in Python, keys may be anything
            if key not in _HOLDS and key not in _OF_OTHERS:
                is_ours = key.startswith(X_EVAL)
                if is_ours:
                    close = difflib.get_close_matches(key.removeprefix(X_EVAL), annotations, n=1)
                    known = X_EVAL + close[0] if close else ""
                else:
                    known = "" if as_published else _keyword_meant(key, value)
                if known or (is_ours and not as_published):
                    found.append((f"{pointer}/{escape(key)}", key, known))
    for place, key, known in found:
        if any(ref.startswith(f"#{place}/") for ref in references):
            continue
        if key.startswith(X_EVAL):
            hint = f"did you mean {known!r}?" if known else f"known: {', '.join(sorted(X_KEYWORDS))}"
            yield SchemaError(f"no annotation {key!r}; {hint}", pointer=place)
        else:
            own = "a key of your own starts with `x-`"
            yield SchemaError(f"no keyword {key!r}; did you mean {known!r}? ({own})", pointer=place)


def _keyword_meant(key: str, value: Json) -> str:
    """Return the keyword that a key is most likely a slip of; "" where it is none.

    `x-deprecated` and `xrequired` are a schema's own: whoever puts an x before a keyword wants it to be ignored.
    """
    from rapidfuzz.distance import OSA  # few schemas have keys that are not known

    if key[:1] == "x" and key[1:] in _HOLDS:
        return ""
    written, names = _folded(key), (*X_KEYWORDS, RULES_KEYWORD) if key.startswith("x-") else _HOLDS
    edits = {known: OSA.distance(written, _folded(known)) for known in names if _fits(value, known)}
    likely = [known for known, number in edits.items() if number <= _edits_allowed(written, _folded(known))]
    return min(likely, key=edits.__getitem__, default="")


def _folded(key: str) -> str:
    """Return a key without what snake case and camel case differ in."""
    return key.replace("_", "").replace("-", "").lower()


def _edits_allowed(*names: str) -> int:
    """Return how many letters of a slip may differ from its keyword; a swap of two is one edit."""
    shortest = min(map(len, names))
    return 2 if shortest > _SHORT else 1 if shortest > 2 else 0


def _fits(value: Json, known: str) -> bool:
    if known == "type":
        return all(isinstance(name, str) and name in _TYPES for name in (value if isinstance(value, list) else [value]))
    return isinstance(value, _HOLDS[known])
