from __future__ import annotations

import pytest

from pytest_extract.core.results import FieldResult
from pytest_extract.report.findings import findings_of
from tests.records import field_result


def item(path: str, gold: object = None, extracted: object = None, matched: str | None = None) -> FieldResult:
    sides = {name: value for name, value in (("gold", gold), ("extracted", extracted)) if value is not None}
    return field_result(path, matched=matched, **sides)._replace(pattern=path.partition("[")[0] + "[]")


def notes(*results: FieldResult) -> list[str]:
    return [each.note for each in findings_of(results)]


def test_a_misread_value_of_a_list_is_named_beside_the_lost_one() -> None:
    lost, other = item("tags[1]", "green"), item("tags[2]", "blue")
    invented = item("tags[-1]", extracted="gren", matched="tags[1]"), item("tags[-2]", extracted="white")
    assert notes(lost, other, *invented) == ['much like "gren", invented at tags[1]', "", "", ""]


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([item("a[0]", "green"), item("b[-1]", extracted="gren")], id="other-field"),
        pytest.param([item("a[0]", "green"), item("a[-1]", extracted="red")], id="unlike"),
        pytest.param([item("a[0]", 12345), item("a[-1]", extracted="12346")], id="no-text"),
        pytest.param([item("a[0]", "green"), item("a[1]", "green", "gren")], id="paired"),
        pytest.param([item("a[0]", {"x": "green"}), item("a[-1]", extracted="green")], id="whole-row"),
    ],
)
def test_nothing_is_guessed(entries: list[FieldResult]) -> None:
    assert not any(notes(*entries))


def test_very_many_values_are_left_alone() -> None:
    many = [item(f"a[{at}]", f"word{at}") for at in range(200)]
    assert not any(
        note.startswith("much like")
        for note in notes(*many, *(item(f"a[{-1 - at}]", extracted=f"word{at}x") for at in range(200)))
    )
