"""What names rows of a gold by their places, its review and keys of its cases, after a row has moved or is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from pytest_extract.cases.edit import change_keys
from pytest_extract.cases.model import Case
from pytest_extract.cases.review_file import (
    REVIEWED,
    GoldReview,
    change_reviews,
    read_reviews,
    review_name,
    review_path,
)
from pytest_extract.cases.sources import Steps
from pytest_extract.core.values import FieldStep, Json, parse_field, path_text

T = TypeVar("T")
_Path: TypeAlias = tuple[FieldStep, ...]
_BY_FIELD: Final = ("accept", "absent", "evidence", "overrides")
"""Keys of a case whose values are mappings by field."""


class MovedRow(NamedTuple):
    """A row of the list at `array` that was at `old` and now is at `new`, which is not behind it; None: it is gone."""

    array: Steps
    old: int
    new: int | None

    def path(self, path: _Path) -> _Path | None:
        """Return where a path leads now; None where the row that it leads to is gone."""
        at = len(self.array)
        index = path[at] if len(path) > at and path[:at] == self.array else None
        if not isinstance(index, int):
            return path
        moved: int | None
        if index == self.old:
            moved = self.new
        elif self.new is None:
            moved = index - (index > self.old)
        else:
            moved = index + (self.new <= index < self.old)
        return None if moved is None else (*path[:at], moved, *path[at + 1 :])

    def name(self, name: str) -> str | None:
        """Return the text of a path or pattern as it is now; None where the row is gone."""
        path = parse_field(name)
        moved = None if path is None else self.path(path)
        return name if moved == path else None if moved is None else path_text(moved)

    def names(self, named: Mapping[str, T]) -> dict[str, T]:
        """Return what is known of paths under their texts as they are now, without what is gone."""
        return {moved: part for name, part in named.items() if (moved := self.name(name)) is not None}


def gold_name(case: Case) -> str:
    """Return the name of a case's gold in the file with its review."""
    return review_name(case.gold_steps, case.gold_line, case.id)


def review_of(case: Case) -> GoldReview:
    """Return the review of a case's gold as it is now. Raises CaseFileError."""
    return read_reviews(review_path(case.gold_path)).get(gold_name(case), REVIEWED)


def same_gold(one: Case, other: Case) -> bool:
    """Whether two cases have one gold: by a file, by a place in a file, or by `defaults`."""
    return (one.gold_path, one.gold_steps, one.gold_line) == (other.gold_path, other.gold_steps, other.gold_line)


def follow_row(cases: Sequence[Case], row: MovedRow) -> None:
    """Change what names rows of a gold, in its review and in the keys of the `cases` that have it.

    What keys of several cases say, those of `defaults` and `documents`, stays. Raises CaseFileError, StoreError.
    """

    def moved(review: GoldReview) -> GoldReview:
        new = replace(review, open=row.names(review.open), decisions=row.names(review.decisions))
        return review if new == review else new

    change_reviews(cases[0].gold_path, map(gold_name, cases), moved)
    for case in {(case.path, case.line, case.steps): case for case in cases}.values():  # altered ones have no own keys
        change_keys(case, lambda keys: _renamed(keys, row))


def _renamed(keys: Mapping[str, Json], row: MovedRow) -> dict[str, Json]:
    """Return the keys of a case with the paths of rows as they are now, without what only a removed row had."""
    new = dict(keys)
    for key in _BY_FIELD:
        if isinstance(named := keys.get(key), dict):
            new[key] = row.names(named)
    if isinstance(known := keys.get("known_failures"), list):
        paths = [(entry, row.name(entry["path"])) for entry in known]
        new["known_failures"] = [{**entry, "path": path} for entry, path in paths if path is not None]
    return {key: part for key, part in new.items() if part or not keys[key]}
