"""All Hypothesis strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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


def _nest(depth: int, *, objects: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


hostile: st.SearchStrategy[Any] = st.sampled_from(
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        -0.0,
        10**5000,
        -(10**400),
        "\ud800",
        "\ud800 \udfff\x00",
        "nan",
        "1e999",
        "9" * 5000,
        _nest(2_000, objects=False),
        _nest(2_000, objects=True),
        [float("nan"), 10**5000, "\udc00"],
    ]
)
any_json: st.SearchStrategy[Any] = json_values | hostile | st.lists(hostile | scalars, max_size=3)
"""Whatever a parser may hand over, far beyond what JSON allows."""
