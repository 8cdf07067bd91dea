"""What differs inside two lists or objects that the schema declares no fields for (deepdiff)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pytest_extract.core.values import FieldPath, Json
from pytest_extract.report.lines import Span, plural, safe_prose
from pytest_extract.report.values import show

LARGEST: Final = 20_000
"""Values with more scalars than this (both sides together) are not diffed: it would take too long to be read anyhow."""
DEEPEST: Final = 60
"""deepdiff recurses: values nested deeper than this are not diffed."""


def object_lines(gold: Json, extracted: Json, width: int, *, limit: int | None) -> tuple[Span, ...]:
    """Say the first `limit` differences as `path gold→extracted`, and how many more there are."""
    if _too_large(gold, extracted):
        return (Span("too large to be compared inside", "dim"),)
    changes = list(_changes(gold, extracted, width // 2))
    shown = changes if limit is None else changes[:limit]
    text = "; ".join(shown)
    left = len(changes) - len(shown)
    return (Span(text, "mark"), *((Span(f"; … {plural(left, 'more difference')}"),) if left else ()))


def _too_large(gold: Json, extracted: Json) -> bool:
    stack: list[tuple[Json, int]] = [(gold, 0), (extracted, 0)]
    seen = 0
    while stack:
        value, depth = stack.pop()
        seen += 1
        if depth > DEEPEST or seen > LARGEST:
            return True
        if isinstance(value, dict):
            stack.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            stack.extend((item, depth + 1) for item in value)
    return False


def _changes(gold: Json, extracted: Json, width: int) -> Iterator[str]:
    from deepdiff import DeepDiff

    tree: Any = DeepDiff(gold, extracted, view="tree", ignore_numeric_type_changes=False)
    for kind in sorted(tree):
        for change in tree[kind]:
            place = safe_prose(str(FieldPath(change.path(output_format="list"))))
            if kind.endswith("_removed"):
                yield f"{place} lost {show(change.t1, width)}"
            elif kind.endswith("_added"):
                yield f"{place} invented {show(change.t2, width)}"
            else:
                yield f"{place} {show(change.t1, width)}→{show(change.t2, width)}"
