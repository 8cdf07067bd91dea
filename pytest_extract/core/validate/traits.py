"""What a schema uses, as far as it decides which validator may answer for it.

jsonschema (Python) is the reference: its verdicts are the published ones. jsonschema-rs answers 500 times faster, and
may answer alone only where the two cannot differ; this module knows where that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from pytest_extract.core.values import CONTAINERS, Json
from pytest_extract.lazy import dataclass

DRAFTS: Final = {
    "http://json-schema.org/draft-03/schema": "Draft3Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
"""`$schema` -> class name, the same in both libraries."""

LATEST: Final = "Draft202012Validator"
DRAFT7: Final = "Draft7Validator"
DRAFT6: Final = "Draft6Validator"

_ONLY_PYTHON: Final = frozenset(
    {
        *("contentEncoding", "contentMediaType", "contentSchema", "$dynamicRef", "$recursiveRef", "$dynamicAnchor"),
        *(
            "$recursiveAnchor",
            "$anchor",
            "$vocabulary",
            "unevaluatedItems",
            "unevaluatedProperties",
            "dependencies",  # jsonschema-rs knows it in every draft
            "dependentSchemas",
        ),
    }
)
_CHANGED_SINCE_7: Final = frozenset(
    {
        *("prefixItems", "additionalItems", "dependentSchemas", "dependentRequired", "dependencies", "minContains"),
        *("maxContains", "unevaluatedItems", "unevaluatedProperties", "$anchor", "$dynamicRef", "$recursiveRef"),
    }
)
_NEW_IN_7: Final = frozenset({"if"})
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE: Final = ("not", "if", "then", "else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Answers about one schema.

    rust: jsonschema-rs may answer.
    same_as_draft7: the verdicts of the declared draft and of Draft 7 cannot differ.
    valid_in_draft7: a schema that its declared draft admits is one that Draft 7 admits.
    asserts_required: a valid value has the required keys of each of its objects that `properties` and `items` lead to:
        nothing stands beside a `$ref`, where Draft 7 passes it over, and `items` is for all rows.
    refers: the schema has references, and so may be recursive.
    """

    rust: bool
    same_as_draft7: bool
    valid_in_draft7: bool
    asserts_required: bool
    refers: bool


def draft_of(schema: Json) -> str:
    """Class name of the declared draft; the latest where none, or none that is known, is declared."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    return DRAFTS.get(declared.removesuffix("#"), LATEST) if isinstance(declared, str) else LATEST


def traits_of(schema: Json) -> Traits:
    """Look once over a whole schema; names that only look like keywords cost speed, not correctness."""
    nodes = _objects(schema)
    keys = {name for node in nodes for name in node}
    references = [node for node in nodes if "$ref" in node]
    only_python = any(
        isinstance(node.get("multipleOf"), float) or ("$id" in node and node is not schema) for node in nodes
    )
    moved = any(isinstance(node.get("items"), list) for node in nodes) or any(len(node) > 1 for node in references)
    draft = draft_of(schema)
    modern = draft not in ("Draft3Validator", "Draft4Validator")
    rust = modern and not only_python and not keys & _ONLY_PYTHON and not _loops_in_place(schema, references)
    same = modern and not moved and not keys & (_CHANGED_SINCE_7 if draft != DRAFT6 else _NEW_IN_7)
    # what Draft 7's metaschema asks of the other keywords, the later ones ask as well
    return Traits(
        rust=rust,
        same_as_draft7=same,
        valid_in_draft7=same and draft != DRAFT6,
        asserts_required=modern and not moved and "prefixItems" not in keys,
        refers=bool(references),
    )


def _objects(schema: Json) -> list[dict[str, Any]]:
    """Return all objects in a schema, outer ones first."""
    found: list[dict[str, Any]] = []
    containers = [schema]
    for node in containers:
        if isinstance(node, dict):
            found.append(node)
            containers += [value for value in node.values() if isinstance(value, CONTAINERS)]
        elif isinstance(node, list):
            containers += [value for value in node if isinstance(value, CONTAINERS)]
    return found


def _loops_in_place(schema: Json, references: list[dict[str, Any]]) -> bool:
    """Whether some `$ref` leads back to itself without going into the instance: Python then never ends, Rust does."""
    done: set[int] = set()
    return any(id(node) not in done and _returns(schema, node, done) for node in references)


def _returns(schema: Json, start: dict[str, Any], done: set[int]) -> bool:
    """Depth-first from one node along `$ref` and the applicators that stay at the same instance."""
    path: set[int] = set()
    stack: list[tuple[dict[str, Any], bool]] = [(start, False)]
    while stack:
        node, left = stack.pop()
        if left:
            path.discard(id(node))
            done.add(id(node))
        elif id(node) in path:
            return True
        elif id(node) not in done:
            path.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in _same_instance(schema, node))
    return False


def _same_instance(schema: Json, node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    target = _local(schema, node.get("$ref"))
    if isinstance(target, dict):
        yield target
    for key in _IN_PLACE:
        if isinstance(child := node.get(key), dict):
            yield child
    for key in _IN_PLACE_LISTS:
        if isinstance(children := node.get(key), list):
            yield from (child for child in children if isinstance(child, dict))


def _local(schema: Json, reference: Json) -> Json:
    """Return what a local reference (`#/$defs/x`) names; None where it names nothing here."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node = schema
    for token in unquote(reference[1:]).split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node
