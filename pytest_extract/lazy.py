"""Public names that import the module of their definition at their first use (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def lazy_names(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module. `homes`: public name -> module below `pytest_extract`."""

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"pytest_extract.{homes[name]}"), name)

    return get, lambda: sorted(homes)
