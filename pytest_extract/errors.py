"""All exceptions that the package raises on purpose, grouped by who can fix the cause.

Each exception carries its parts as attributes, so that editors, reports and tests never parse text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class ExtractError(Exception):
    """Base of everything raised on purpose; a subclass says who can fix it."""


class SchemaError(ExtractError):
    """A JSON Schema, or the scoring configuration inside it or over it, that cannot be used.

    `pointer` is the JSON pointer (RFC 6901) of the offending node, `""` for the root.
    `at` are the steps from the keys of a case to what holds the mistake, such as `("overrides", "items[].price")`,
    `("post_process", 0)`, `("rules", 2, "abs")`; `()` when it stands in the schema.
    """

    def __init__(self, message: str, *, pointer: str = "", at: tuple[str | int, ...] = ()) -> None:
        where = f"at {pointer or '/'}"
        if at:
            where = f"in {at[0]} at {at[1]!r}" if len(at) > 1 else f"in {at[0]}"
        super().__init__(f"{where}: {message}")
        self.pointer = pointer
        self.at = at
        self.message = message

    @property
    def errors(self) -> tuple[SchemaError, ...]:
        """Every mistake told at once; a single one holds itself."""
        return (self,)


class SchemaErrors(SchemaError):
    """Several mistakes of one schema, told at once; `pointer`, `at` and `message` are the first one's."""

    def __init__(self, errors: Iterable[SchemaError]) -> None:
        self._errors = tuple(errors)
        first = self._errors[0]
        super().__init__(first.message, pointer=first.pointer, at=first.at)
        self.args = ("\n".join(str(error) for error in self._errors),)

    @property
    def errors(self) -> tuple[SchemaError, ...]:
        """The mistakes, in the order of the schema, those of overrides last."""
        return self._errors


class ConfigError(ExtractError):
    """An option, a hook's registration or an API argument that cannot be used."""


class StoreError(ExtractError):
    """A results, baseline or recording file that cannot be read or written."""


class NotWritten(StoreError):
    """A file that cannot be written (`path`), and what the system says to that (`reason`)."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        self.reason = error.strerror or str(error)
        super().__init__(f"{path}: cannot be written: {self.reason}")


class CaseFileError(ExtractError):
    """One mistake in a case file, or in a schema or gold that it names.

    `line` and `column` count from 1; `None` where the file as a whole is meant.
    """

    def __init__(self, message: str, *, path: Path, line: int | None = None, column: int | None = None) -> None:
        where = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{where}: {message}")
        self.path = path
        self.line = line
        self.column = column
        self.message = message


class CaseFileErrors(ExtractError):
    """All mistakes of one case file, told at once, in the order of the file."""

    def __init__(self, errors: Iterable[CaseFileError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))


def nearest(word: object, known: Iterable[str]) -> str:
    """Say which known name is close to `word`, or which there are: `; did you mean 'exact'?`."""
    names = sorted(known)
    return closest(word, names) or (f"; known: {', '.join(names)}" if names else "")


def closest(word: object, known: Iterable[str]) -> str:
    """Say which known name is close to `word`, case aside: `; did you mean 'exact'?`; "" where none is."""
    if not isinstance(word, str):
        return ""
    by_fold = {name.casefold(): name for name in sorted(known)}
    close = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean {by_fold[close[0]]!r}?" if close else ""
