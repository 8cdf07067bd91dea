"""Values of numpy that are JSON in another dress, and those that are none."""

from __future__ import annotations

import json

import pytest

from pytest_extract.core.arguments import NoJsonType, NotJson, plain_json

np = pytest.importorskip("numpy")
DRESSED = [
    (np.int64(7), 7),
    (np.float32(0.5), 0.5),
    (np.float64(0.1), 0.1),
    (np.longdouble(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.datetime64("2024-01-02"), "2024-01-02"),
    (np.datetime64("2024-01-02T03:04:05", "ns"), "2024-01-02T03:04:05"),
    (np.datetime64("2024-01-02T03:04:05.000000001"), "2024-01-02T03:04:05.000000001"),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array(5), 5),
    (np.array([(1, 2.5, "x")], dtype=[("a", "i4"), ("b", "f8"), ("c", "U4")]), [[1, 2.5, "x"]]),
    (np.array(["2024-01-02"], dtype="datetime64[ns]"), ["2024-01-02T00:00:00"]),
    (np.array([None, None], dtype=object), [None, None]),
]
NONE = [
    (np.datetime64("NaT"), "of type datetime64"),
    (np.timedelta64(1, "s"), "of type timedelta64"),
    (np.complex64(1), "of type complex64"),
    (np.bytes_(b"x"), "of type bytes_"),
]


@pytest.mark.parametrize(("value", "expected"), DRESSED, ids=lambda value: repr(value)[:40])
def test_json_in_another_dress(value, expected):
    plain = plain_json({"rows": [value]})
    assert plain == {"rows": [expected]}
    assert type(plain["rows"][0]) is type(expected)
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(("value", "message"), NONE, ids=lambda value: repr(value)[:40])
def test_other_types_name_their_place(value, message):
    with pytest.raises(NoJsonType, match=message) as caught:
        plain_json({"rows": [{}, {"price": value}]})
    assert str(caught.value.path) == "rows[1].price"


def test_infinity_may_come_from_a_model():
    with pytest.raises(NotJson) as caught:
        plain_json([np.float64("inf")])
    assert not isinstance(caught.value, NoJsonType)
