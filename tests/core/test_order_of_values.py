"""Where the order of a list of values counts, and how a run tells of an order that does not."""

from __future__ import annotations

import pytest

from tests.core.schemas import NUMBER, TEXT, array, obj, scored, table

PAIR = array(NUMBER, minItems=2, maxItems=2)
ROWS = [["Bolt", "2", "5"], ["Nut", "7", "9"]]
SWAPPED = [["Bolt", "5", "2"], ["Nut", "7", "9"]]
NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "gold", "output"),
    [
        (array(array(TEXT)), ROWS, SWAPPED),
        (array(array({"type": ["string", "null"]})), ROWS, SWAPPED),
        (array(array({"type": ["string", "number"]})), [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        (array(array({"anyOf": [TEXT, NUMBER]})), [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        (array({"type": "array"}), [["Bolt", 2, 5]], [["Bolt", 5, 2]]),
        (array({"anyOf": [array(TEXT), NULL]}), ROWS, SWAPPED),
        (PAIR, [9.99, 48.4], [48.4, 9.99]),
        ({"anyOf": [PAIR, NULL]}, [9.99, 48.4], [48.4, 9.99]),
        ({"allOf": [array(NUMBER, minItems=2), {"maxItems": 2}]}, [1, 2], [2, 1]),
        (array(PAIR), [[9.99, 48.4]], [[48.4, 9.99]]),
        (array(PAIR, minItems=2, maxItems=2), [[1, 2], [3, 4]], [[3, 4], [1, 2]]),
        ({"type": "array", "prefixItems": [NUMBER, NUMBER]}, [9.99, 48.4], [48.4, 9.99]),
    ],
    ids=str,
)
def test_cells_and_coordinates_mean_something_by_where_they_stand(schema, gold, output):
    assert scored(obj(x=schema), {"x": gold}, {"x": output}).measures["pass_rate"] == 0
    assert scored(obj(x=schema), {"x": gold}, {"x": gold}).measures["pass_rate"] == 1


@pytest.mark.parametrize(
    ("schema", "gold", "how"),
    [
        (array(TEXT), ["a", "b"], {}),
        (array(TEXT, minItems=1, maxItems=2), ["a", "b"], {}),
        (array(array(TEXT)), ROWS, {}),
        (table(a=TEXT) | {"minItems": 2, "maxItems": 2}, [{"a": "x"}, {"a": "y"}], {}),
        (PAIR, [1, 2], {"overrides": {"x": {"align": "multiset"}}}),
    ],
    ids=str,
)
def test_tags_and_rows_may_stand_in_any_order(schema, gold, how):
    assert scored(obj(x=schema), {"x": gold}, {"x": gold[::-1]}, how=how).measures["pass_rate"] == 1


TAGGED = [{"a": "1", "tags": ["p", "q"]}, {"a": "2"}], [{"a": "2"}, {"a": "1", "tags": ["q", "p"]}]


@pytest.mark.parametrize(
    ("schema", "gold", "output", "lists"),
    [
        (array(TEXT), ["a", "b"], ["b", "a"], ["x"]),
        (array(TEXT), ["a", "b"], ["a", "b"], []),
        (array(TEXT), ["a", "b", "c"], ["a", "c"], []),
        (array(TEXT), ["a", "b", "c"], ["z", "a", "b", "c"], []),
        (array(TEXT), ["a", "b", "c"], ["c", "a"], ["x"]),
        (array(TEXT), ["a", "b"], ["y", "a"], []),
        (table(a=TEXT, tags=array(TEXT)), *TAGGED, ["x[0].tags"]),  # rows of objects have no order to tell of
    ],
)
def test_an_order_that_was_not_compared_is_known(schema, gold, output, lists):
    record = scored(obj(x=schema), {"x": gold}, {"x": output}).record()
    assert [str(path) for path in record.reordered] == lists


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
