"""What is made at its first use: the public names of a module, and regular expressions.

A run of one case imports a hundred modules of this package, and what they define counts more than what they do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    lazy_pattern = re.compile
else:

    def lazy_pattern(source: str, flags: int = 0) -> _LazyPattern:
        """Make a regular expression as `re.compile` does, compiled when it is first asked to match."""
        return _LazyPattern(source, flags)


def lazy_names(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module (PEP 562). `homes`: module below `pytest_extract` -> its names.

    Each name imports the module of its definition at its first use.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"pytest_extract.{home_of[name]}"), name)

    return get, lambda: sorted(home_of)


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
