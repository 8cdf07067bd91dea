"""Where the order of a list of values counts, and how a run tells of an order that does not."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_extract import score

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
PAIR = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
ROWS = [["Bolt", "2", "5"], ["Nut", "7", "9"]]
SWAPPED = [["Bolt", "5", "2"], ["Nut", "7", "9"]]


def table_of(cell: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "array", "items": cell}}


def compared(schema: dict[str, Any], gold: Any, output: Any, **options: Any) -> Any:
    return score({"type": "object", "properties": {"x": schema}}, {"x": gold}, {"x": output}, **options)


@pytest.mark.parametrize(
    ("schema", "gold", "output"),
    [
        (table_of(TEXT), ROWS, SWAPPED),
        (table_of({"type": ["string", "null"]}), ROWS, SWAPPED),
        (table_of({"type": ["string", "number"]}), [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        (table_of({"anyOf": [TEXT, NUMBER]}), [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        ({"type": "array", "items": {"type": "array"}}, [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        ({"type": "array", "items": {"anyOf": [table_of(TEXT)["items"], {"type": "null"}]}}, ROWS, SWAPPED),
        (PAIR, [9.99, 48.4], [48.4, 9.99]),
        ({"anyOf": [PAIR, {"type": "null"}]}, [9.99, 48.4], [48.4, 9.99]),
        ({"allOf": [{"type": "array", "items": NUMBER, "minItems": 2}, {"maxItems": 2}]}, [1, 2], [2, 1]),
        ({"type": "array", "items": PAIR}, [[9.99, 48.4]], [[48.4, 9.99]]),
        ({"type": "array", "items": PAIR, "minItems": 2, "maxItems": 2}, [[1, 2], [3, 4]], [[3, 4], [1, 2]]),
        ({"type": "array", "prefixItems": [NUMBER, NUMBER]}, [9.99, 48.4], [48.4, 9.99]),
    ],
    ids=str,
)
def test_cells_and_coordinates_mean_something_by_where_they_stand(schema, gold, output):
    assert compared(schema, gold, output).measures["pass_rate"] == 0
    assert compared(schema, gold, gold).measures["pass_rate"] == 1


@pytest.mark.parametrize(
    ("schema", "gold", "output"),
    [
        ({"type": "array", "items": TEXT}, ["a", "b"], ["b", "a"]),
        ({"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2}, ["a", "b"], ["b", "a"]),
        (table_of(TEXT), ROWS, ROWS[::-1]),
        (
            {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "object", "properties": {"a": TEXT}}},
            [{"a": "x"}, {"a": "y"}],
            [{"a": "y"}, {"a": "x"}],
        ),
    ],
    ids=str,
)
def test_tags_and_rows_may_stand_in_any_order(schema, gold, output):
    assert compared(schema, gold, output).measures["pass_rate"] == 1


def test_an_override_lets_values_of_a_fixed_length_stand_in_any_order():
    found = compared(PAIR, [1, 2], [2, 1], overrides={"x": {"align": "multiset"}})
    assert found.measures["pass_rate"] == 1


@pytest.mark.parametrize(
    ("gold", "output", "lists"),
    [
        (["a", "b"], ["b", "a"], ("x",)),
        (["a", "b"], ["a", "b"], ()),
        (["a", "b", "c"], ["a", "c"], ()),
        (["a", "b", "c"], ["z", "a", "b", "c"], ()),
        (["a", "b", "c"], ["c", "a"], ("x",)),
        (["a", "b"], ["y", "a"], ()),
    ],
)
def test_an_order_that_was_not_compared_is_known(gold, output, lists):
    found = compared({"type": "array", "items": TEXT}, gold, output).record()
    assert tuple(map(str, found.reordered)) == lists


def test_rows_of_objects_have_no_order_to_tell_of():
    row = {"type": "object", "properties": {"a": TEXT, "tags": {"type": "array", "items": TEXT}}}
    gold, output = [{"a": "1", "tags": ["p", "q"]}, {"a": "2"}], [{"a": "2"}, {"a": "1", "tags": ["q", "p"]}]
    found = compared({"type": "array", "items": row}, gold, output).record()
    assert tuple(map(str, found.reordered)) == ("x[0].tags",)


def test_a_run_and_check_tell_of_the_order(pytester, capsys):
    from pytest_extract.cli import main

    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def extractor():
            return lambda document: {"tags": ["b", "a"], "n": 1 if "1" in document.text else 2}
        """
    )
    schema = "{type: object, properties: {tags: {type: array, items: {type: string}}, n: {type: integer}}}"
    for name, text in (("right", "1"), ("wrong", "2")):
        case = f"text: 'a b {text}'\nschema: {schema}\ngold: {{tags: [a, b], n: 1}}\n"
        (pytester.path / f"{name}.extract.yaml").write_text(case, encoding="utf-8")
    result = pytester.runpytest_inprocess()
    result.stdout.fnmatch_lines(
        [
            "*1 list stands in another order, not compared (tags)*",
            "lists in another order, not compared, in 2 cases: * (tags), * (tags)",
        ]
    )
    capsys.readouterr()
    assert main(["check", str(pytester.path)]) == 0
    assert "order is not compared in lists of values: tags; where it matters" in capsys.readouterr().out
