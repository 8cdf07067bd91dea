"""A mistake that changes the meaning is not named a harmless one."""

from __future__ import annotations

import pytest

from tests.core.schemas import NUMBER, TEXT, obj, scored


@pytest.mark.parametrize(
    ("gold", "extracted", "kind"),
    [
        ("$10", "€10", "marks"),
        ("≤ 5 mg", "≥ 5 mg", "marks"),
        ("C#", "C++", "marks"),
        ("3/4", "34", "marks"),
        ("$1,200.00", "1,200.00", "markup"),
        ("- 5", "5", "markup"),
        ("INV-100", "INV-10", "power_of_ten"),
    ],
)
def test_a_change_of_meaning(gold, extracted, kind):
    score = scored(obj(a=TEXT), {"a": gold}, {"a": extracted})
    assert kind not in [mistake.kind for mistake in score.mistakes]


@pytest.mark.parametrize(
    ("schema", "gold", "extracted", "kind"),
    [
        (TEXT, "ACME 5", "**ACME 5**", "markup"),
        (TEXT, "Room 10", "<b>Room 10</b>", "markup"),
        (NUMBER, -100.4, -100, "rounded"),
        (NUMBER, 100.4, 100, "rounded"),
    ],
)
def test_what_is_harmless_is_named_so(schema, gold, extracted, kind):
    assert [mistake.kind for mistake in scored(obj(a=schema), {"a": gold}, {"a": extracted}).mistakes] == [kind]
