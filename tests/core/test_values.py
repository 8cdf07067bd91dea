from __future__ import annotations

from typing import Any

from hypothesis import given

from pytest_extract.core.values import copied
from tests.strategies import json_values


def containers(value: Any) -> list[int]:
    found = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict | list):
            found.append(id(node))
            stack.extend(node.values() if isinstance(node, dict) else node)
    return found


@given(json_values)
def test_a_copy_is_equal_and_shares_nothing(value: Any) -> None:
    before = repr(value)
    copy = copied(value)
    assert repr(copy) == before
    assert not set(containers(copy)) & set(containers(value))


def test_what_a_case_file_may_nest_can_be_copied() -> None:
    value: Any = 1
    for _ in range(200):
        value = [{"a": value}["a"]]
    assert copied(value) == value
