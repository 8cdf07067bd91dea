"""The review of a gold, kept in a file beside it: whether people have reviewed it, what is open, and who decided what.

`acme.gold.json` has `acme.gold.review.json`. The golds of a case file or dataset share one file, by case id. A gold
without such an entry counts as reviewed: whoever wrote it by hand has seen it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pytest_extract.cases.sources import Steps, read_value
from pytest_extract.core.result_json import from_json, to_json
from pytest_extract.core.values import MISSING, Json, Missing
from pytest_extract.errors import CaseFileError, StoreError
from pytest_extract.files import write_atomic

REVIEW_SUFFIX: Final = ".review.json"
WHOLE_FILE: Final = "$"
"""Name of the gold that is a file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A value that outputs propose for a field; MISSING stands for none.

    `sources` names the outputs that have it. `evidence`: where it stands in the document, "" for nowhere, None where
    that cannot be said.
    """

    value: Json | Missing = MISSING
    sources: tuple[str, ...] = ()
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenField:
    """A field that a person has to decide, why, and the candidates; the gold has the first."""

    why: str
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDecision:
    """What a person decided about a field: `accept`, `edit`, `absent`, `keep`, ...; `by` and `at` say who and when."""

    decision: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldReview:
    """The review of one gold.

    `reviewed` is False for a draft. `sources`: the outputs that a draft is made of; `agreed`: the number of its values
    on which they agree. `open` and `decisions` are keyed by the field's path.
    """

    reviewed: bool = True
    sources: tuple[str, ...] = ()
    agreed: int = 0
    open: Mapping[str, OpenField] = field(default_factory=lambda: MappingProxyType({}))
    decisions: Mapping[str, FieldDecision] = field(default_factory=lambda: MappingProxyType({}))

    def without_open(self, path: str) -> GoldReview:
        """Return the review with one field less to decide."""
        return replace(self, open={name: each for name, each in self.open.items() if name != path})


REVIEWED: Final = GoldReview()


def review_path(gold_path: Path) -> Path:
    """Return the file with the reviews of the golds of a file."""
    return gold_path.with_name(gold_path.stem + REVIEW_SUFFIX)


def review_name(gold_steps: Steps, gold_line: int, case_id: str) -> str:
    """Return the name of a case's gold in the file with its review."""
    return case_id if gold_steps or gold_line != 1 else WHOLE_FILE


def read_reviews(path: Path) -> dict[str, GoldReview]:
    """Return the reviews of a file by the names of golds; nothing where it is not there. Raises CaseFileError."""
    if not path.is_file():
        return {}
    value: Any = read_value(path)
    try:
        return {name: from_json(GoldReview, raw) for name, raw in value["golds"].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CaseFileError(f"is no file of reviews: {type(error).__name__}: {error}", path=path, line=1) from None


def write_review(gold_path: Path, name: str, review: GoldReview) -> None:
    """Write the review of one gold; those of others in the file stay. Raises CaseFileError, StoreError."""
    change_reviews(gold_path, (name,), lambda _: review)


def change_reviews(gold_path: Path, names: Iterable[str], change: Callable[[GoldReview], GoldReview]) -> None:
    """Change the review that a gold has under each name; `change` returns one that stays. Raises as `write_review`."""
    path = review_path(gold_path)
    before = read_reviews(path)
    reviews = {**before, **{name: change(before.get(name, REVIEWED)) for name in names}}
    if all(each is before.get(name, REVIEWED) for name, each in reviews.items()):
        return
    golds = {key: to_json(each) for key, each in reviews.items()}
    try:
        text = json.dumps({"golds": golds}, indent=2, allow_nan=False)
    except ValueError as error:
        raise StoreError(f"{path}: a candidate is no JSON: {error}") from None
    write_atomic(path, text + "\n")
