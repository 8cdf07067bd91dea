"""Public names of a module that import the module of their definition at their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def lazy_names(
    module: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__` and `__dir__` of a module (PEP 562), and its names. `homes`: module here -> its names.

    Each name imports the module of its definition at its first use. Type checkers read a re-export of each beside it.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"pytest_extract.{home_of[name]}"), name)

    names = sorted(home_of)
    return get, lambda: names, names
