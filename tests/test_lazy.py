"""The package's `dataclass` does what the standard one does; only `__init__` is compiled at its first use."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any

import pytest

from pytest_extract import lazy

OPTIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for kw_only in (False, True)
    for eq in (False, True)
]


def case_like(decorate: Any) -> Any:
    class Point:
        """A point."""

        x: int
        y: float = 1.5
        tags: list[str] = field(default_factory=list)
        note: str = field(default="n", compare=False, repr=False)
        made: int = field(init=False, default_factory=lambda: 7)
        _: KW_ONLY
        unit: str = "cm"

    return decorate(Point)


def both(**options: Any) -> list[Any]:
    return [case_like(lazy.dataclass(**options)), case_like(dataclasses.dataclass(**options))]


def told(make: Any) -> object:
    """Return a value, or the type and words of what is raised."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # whatever either raises is compared
        return type(error), str(error)


LOOKS = (
    inspect.signature,
    lambda cls: cls.__match_args__,
    lambda cls: cls.__doc__,
    lambda cls: [dataclasses.astuple(cls(x=1)), dataclasses.asdict(cls(x=1, tags=["a"]))],
    lambda cls: repr(cls(x=1)),
    lambda cls: cls(1, 2.0, ["a"], "b"),
    lambda cls: cls(),
    lambda cls: cls(x=1, z=2),
    lambda cls: [cls(x=1) == cls(x=1), cls(x=1) == cls(x=2), cls(x=1, note="a") == cls(x=1), cls(x=1) == 1],
    lambda cls: cls.__hash__ is None,
    lambda cls: hash(cls(x=1, tags=())) if cls.__dataclass_params__.eq else None,
    lambda cls: cls(x=1).tags is cls(x=1).tags,
    lambda cls: repr(dataclasses.replace(cls(x=1), x=3, unit="m")),
    lambda cls: repr(copy.copy(cls(x=1))),
    lambda cls: repr(copy.deepcopy(cls(x=1, tags=["a"]))),
    lambda cls: hasattr(cls(x=1), "__dict__"),
    lambda cls: setattr(cls(x=1), "x", 2),
    lambda cls: delattr(cls(x=1), "x"),
    lambda cls: setattr(type("Sub", (cls,), {})(x=1), "x", 2),
    lambda cls: repr(type("Sub", (cls,), {"__slots__": ()})(x=1)),
    lambda cls: cls.__init__.__annotations__,
    lambda cls: [cls.__init__.__qualname__, cls.__init__.__module__],
    lambda cls: str(cls.__dataclass_params__).replace("match_args=True,", ""),
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_as_the_standard_decorator_makes_it(options: dict[str, bool]) -> None:
    ours, standard = both(**options)
    for look in LOOKS:
        assert str(told(lambda look=look: look(ours))) == str(told(lambda look=look: look(standard)))


def test_a_subclass_of_a_frozen_class_may_have_attributes_of_its_own() -> None:
    for options in OPTIONS:
        sub = type("Sub", (both(**options)[0],), {})(x=1)
        sub.extra = 2
        assert sub.extra == 2


def test_without_options_it_decorates_the_class_itself() -> None:
    assert repr(case_like(lazy.dataclass)(1)).endswith("Point(x=1, y=1.5, tags=[], made=7, unit='cm')")


def test_what_a_class_defines_itself_stays() -> None:
    @lazy.dataclass(frozen=True)
    class Own:
        x: int

        def __init__(self) -> None:
            object.__setattr__(self, "x", 3)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    assert (repr(Own()), Own() == 1, hash(Own()), Own().x) == ("own", True, 5, 3)


def test_equality_of_its_own_takes_the_hash_over_the_fields() -> None:
    """As documented for the standard decorator: frozen and comparable means hashable."""
    classes = []
    for decorate in (lazy.dataclass(frozen=True), dataclasses.dataclass(frozen=True)):

        class Own:  # noqa: PLW1641  # the decorator gives it a hash
            x: int

            def __eq__(self, other: object) -> bool:
                return True

        Own.__annotations__ = {"x": int}
        classes.append(decorate(Own))
    assert [hash(each(3)) == hash((3,)) for each in classes] == [True, True]


def test_post_init_runs_and_may_raise() -> None:
    @lazy.dataclass(slots=True)
    class Positive:
        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

    assert Positive(1).x == 1
    with pytest.raises(ValueError, match="negative"):
        Positive(-1)


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @lazy.dataclass
        class Wrong:
            x: list[int] = []  # noqa: RUF012


@lazy.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A class that pickle finds by its name."""

    x: int
    itself: object = None


def test_a_frozen_class_with_slots_can_be_pickled() -> None:
    one = pickle.loads(pickle.dumps(Kept(x=1, itself=[2])))
    assert (one.x, one.itself) == (1, [2])
    with pytest.raises(FrozenInstanceError):
        one.x = 2


def test_a_value_that_holds_itself_is_shown() -> None:
    held: list[object] = []
    one = Kept(x=1, itself=held)
    held.append(one)
    assert repr(one) == "Kept(x=1, itself=[...])"


def test_the_first_look_puts_the_compiled_method_into_the_class() -> None:
    ours, _ = both(frozen=True)
    assert not inspect.isfunction(vars(ours)["__init__"])
    ours(1)
    assert inspect.isfunction(vars(ours)["__init__"])
    assert type("Sub", (ours,), {}).__init__ is ours.__init__


def test_two_nans_are_equal_only_where_they_are_one_object() -> None:
    ours = [make(x=1, tags=[], y=value) for make in both(frozen=True)[:1] for value in (float("nan"), float("nan"))]
    assert ours[0] != ours[1]
    assert ours[0] == copy.copy(ours[0])


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    found = lazy.lazy_pattern(r"(a)(b)?", re.IGNORECASE)
    assert not hasattr(found, "__len__")
    assert set(vars(found)) == {"_source", "_flags"}
    assert found.match("AB").groups() == ("A", "B")
    assert (found.sub("x", "aab"), found.pattern, found.groups) == ("xx", r"(a)(b)?", 2)
    assert "match" in vars(found)
    assert copy.deepcopy(found).search("-ab").start() == 1
    with pytest.raises(AttributeError):
        found.no_such_method  # noqa: B018


def test_a_pattern_that_is_none_says_so_when_it_is_used() -> None:
    with pytest.raises(re.error, match="missing"):
        lazy.lazy_pattern("(").match("")
