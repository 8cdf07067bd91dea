"""All Hypothesis strategies."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from pytest_extract.core.values import MAX_DEPTH

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


def nested(depth: int, core: Any = 1, *, objects: bool = False, key: str = "a") -> Any:
    """Return `core` below so many lists, or objects with one key."""
    value = core
    for _ in range(depth):
        value = {key: value} if objects else [value]
    return value


hostile: st.SearchStrategy[Any] = st.sampled_from(
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        -0.0,
        10**4299,
        -(10**400),
        "\ud800",
        "\ud800 \udfff\x00",
        "nan",
        "1e999",
        "9" * 5000,
        nested(MAX_DEPTH - 6),
        nested(MAX_DEPTH - 6, objects=True),
        [float("nan"), 10**4299, "\udc00"],
    ]
)
any_json: st.SearchStrategy[Any] = json_values | hostile | st.lists(hostile | scalars, max_size=3)
"""Whatever gets inside, at the bounds of what is taken for JSON."""
NO_JSON: Final = {
    "nan": float("nan"),
    "infinity": [float("-inf")],
    "digits": {"a": 10**5000},
    "deep": nested(10_000),
    "too deep": nested(MAX_DEPTH + 1, objects=True),
}
"""What a model may write or code return that is no JSON: no gold, and an output that fails."""


# --- schemas, and values that a schema may meet

_names = st.sampled_from(["a", "b", "c", "a.b", "[0]"])
_leaf_schemas: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": "string", "nullable": True},
        {"enum": ["x", 1, None]},
        {"const": {"k": 1}},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"type": "object"},
        {"type": "array"},
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        True,
        False,
        {},
    ]
)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.builds(
        lambda properties, further: {"type": "object", "properties": properties, "additionalProperties": further},
        st.dictionaries(_names, inner, max_size=3),
        st.booleans() | inner,
    )
    arrays = st.builds(lambda items: {"type": "array", "items": items}, inner)
    places = st.builds(lambda items: {"type": "array", "prefixItems": items}, st.lists(inner, min_size=1, max_size=2))
    choices = st.builds(
        lambda word, branches: {word: branches},
        st.sampled_from(["anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
    )
    return objects | arrays | places | choices


schemas: st.SearchStrategy[Any] = st.recursive(_leaf_schemas, _grown, max_leaves=6)
"""Any JSON Schema without scoring annotations, recursion and dangling references included."""
_near_scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, "", "x", "X ", "1"])
near_values: st.SearchStrategy[Any] = st.recursive(
    _near_scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=3), max_leaves=10
)
"""Values from a small stock, so that two of them often agree in part."""
