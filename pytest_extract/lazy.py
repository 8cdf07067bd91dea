"""What is made at its first use: the public names of a module, the methods of a dataclass, regular expressions.

A run of one case imports a hundred modules of this package, and what they define counts more than what they do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # type checkers see the standard one

    lazy_pattern = re.compile
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False, kw_only: bool = False
    ) -> Any:
        """Make a dataclass as `dataclasses.dataclass` does, in a tenth of the time.

        The standard decorator writes and compiles the source of five to seven methods for each class, 0.8 ms in all.
        Here `__init__` is compiled when the class is first called or inspected, and the others are closures. Neither
        base classes that are dataclasses nor `InitVar` are supported: nothing here needs them.
        """

        def make(cls: type) -> type:
            return _made(cls, frozen=frozen, eq=eq, slots=slots, kw_only=kw_only)

        return make if cls is None else make(cls)

    def lazy_pattern(source: str, flags: int = 0) -> _LazyPattern:
        """Make a regular expression as `re.compile` does, compiled when it is first asked to match."""
        return _LazyPattern(source, flags)


def lazy_names(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module (PEP 562). `homes`: public name -> module below `pytest_extract`.

    Each name imports the module of its definition at its first use.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"pytest_extract.{homes[name]}"), name)

    return get, lambda: sorted(homes)


def _made(cls: type, *, frozen: bool, eq: bool, slots: bool, kw_only: bool) -> type:
    import dataclasses  # it imports `inspect`, and `import pytest_extract` needs neither

    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the standard decorator works out a signature for it
    own = vars(cls)
    explicit_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, True, eq, frozen
    fields = dataclasses.fields(made)
    methods: dict[str, object] = {"__init__": _LazyInit(made, frozen=frozen), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _equality([field.name for field in fields if field.compare])
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _refusals(made, {field.name for field in fields})
    if frozen and slots:
        methods["__getstate__"], methods["__setstate__"] = _get_state, _set_state
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    if eq and not explicit_hash:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        made.__hash__ = _hash(hashed) if frozen else None
    return made  # type: ignore[no-any-return]


class _LazyPattern:
    """A regular expression that becomes a copy of the compiled one, method by method."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by `copy` and the like
            raise AttributeError(name)
        found = getattr(re.compile(self._source, self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found


class _LazyInit:
    """In place of `__init__`: compiles it, and gives up its place to it, when somebody asks for it."""

    __slots__ = ("cls", "frozen")

    def __init__(self, cls: type[Any], *, frozen: bool) -> None:
        self.cls = cls
        self.frozen = frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = _compiled_init(self.cls, frozen=self.frozen)
        self.cls.__init__ = made
        return made.__get__(instance, owner)


class _NotGiven:
    """The default of a parameter whose field has a `default_factory`, as the standard decorator shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_NOT_GIVEN: Final = _NotGiven()


def _compiled_init(cls: type[Any], *, frozen: bool) -> Any:
    """Compile `__init__` in the namespace of the module of a class."""
    import dataclasses

    known: dict[str, object] = {"_not_given": _NOT_GIVEN, "_set": object.__setattr__}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    annotations: dict[str, object] = {}
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _not_given else {name}" if field.init else f"_make_{name}()"
        if field.init:
            annotations[name] = field.type
            default = ""
            if field.default is not dataclasses.MISSING:
                known[f"_default_{name}"] = field.default
                default = f"=_default_{name}"
            elif field.default_factory is not dataclasses.MISSING:
                default = "=_not_given"
            (keywords if field.kw_only else positional).append(f"{name}{default}")
        elif field.default_factory is dataclasses.MISSING:
            continue  # the default, if there is one, is an attribute of the class
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*"] if keywords else []), *keywords])
    source = "\n  ".join([f" def __init__({parameters}):", *(body or ["pass"])])
    namespace: dict[str, Any] = {}
    module = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    exec(f"def make({', '.join(known)}):\n{source}\n return __init__", module, namespace)  # noqa: S102  # names of fields
    made = namespace["make"](**known)
    made.__annotations__ = {**annotations, "return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    import dataclasses

    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _values_of(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equality(names: list[str]) -> Callable[[object, object], bool]:
    values = _values_of(names)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hash(names: list[str]) -> Callable[[object], int]:
    values = _values_of(names)

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _refusals(cls: type[Any], names: set[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return `__setattr__` and `__delattr__` of a frozen class; a subclass may have other attributes of its own."""

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            _refuse("assign to", name)
        object.__setattr__(self, name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            _refuse("delete", name)
        object.__delattr__(self, name)

    return __setattr__, __delattr__


def _refuse(what: str, name: str) -> NoReturn:
    import dataclasses

    raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")


def _get_state(self: Any) -> list[object]:
    import dataclasses

    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    import dataclasses

    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
