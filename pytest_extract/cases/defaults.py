"""Case keys as a file has them: checked key by key, and merged with the defaults that cases share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_extract.cases.keys import BAD, FILE_KEYS, MERGED, case_keys, checked_value
from pytest_extract.cases.source_position import Steps
from pytest_extract.cases.sources import Mistake, SourceFile
from pytest_extract.core.values import Json
from pytest_extract.errors import nearest

DOCUMENT_FORMS: Final = ("document", "documents", "text")


@dataclass(frozen=True, slots=True)
class CheckedKeys:
    """A checked mapping of case keys.

    `clean` holds the usable values by key, `invalid` the keys with a mistake. `broken`: the mapping as a whole has one
    (an unknown key, a duplicate key). Its paths resolve from the folder of `source`.
    """

    source: SourceFile
    steps: Steps
    raw: Mapping[str, Json]
    clean: Mapping[str, Any]
    invalid: frozenset[str]
    broken: bool


def check_keys(source: SourceFile, steps: Steps, raw: Mapping[str, Json], mistakes: list[Mistake]) -> CheckedKeys:
    """Check every key of the mapping at `steps` of a source, and add mistakes to the list."""
    clean: dict[str, Any] = {}
    broken = False
    for key, value in raw.items():
        if key not in case_keys():
            mistakes.append(Mistake(source, (*steps, key), _unknown_key_message(key, steps), on_key=True))
            broken = True
            continue
        result, wrong = checked_value(key, value, (*steps, key))
        mistakes += [Mistake(source, told.steps, told.text(steps), told.on_key) for told in wrong]
        if result is not BAD:
            clean[key] = result
    invalid = {key for key in raw if key not in clean}
    for problem in source.parsed.problems:
        if problem.steps[: len(steps)] == steps and len(problem.steps) > len(steps):
            invalid.add(str(problem.steps[len(steps)]))
        elif steps[: len(problem.steps)] == problem.steps:
            broken = True
    return CheckedKeys(source, steps, raw, clean, frozenset(invalid), broken)


def _unknown_key_message(key: str, steps: Steps) -> str:
    if key in FILE_KEYS:
        return f"`{key}` belongs at the top of the file"
    return f"unknown key {key!r}{nearest(key, (*case_keys(), *(() if steps else FILE_KEYS)))}"


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """The keys of a case merged with its defaults."""

    own: CheckedKeys
    defaults: CheckedKeys | None
    values: Mapping[str, Any]
    invalid: frozenset[str]

    def layer_of(self, key: str, *below: str | int) -> CheckedKeys:
        """Return the layer, own keys or defaults, that holds the value of a key, or of a place below it."""
        if self.defaults is None:
            return self.own
        value: Json = self.own.raw
        for step in (key, *below):
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return self.defaults
        return self.own


def merge_defaults(own: CheckedKeys, defaults: CheckedKeys | None) -> CaseSettings:
    """Merge a case's keys with its defaults, its own first: the mappings of MERGED key by key, all others as a whole.

    A case with a document of one form drops those of the defaults.
    """
    if defaults is None:
        return CaseSettings(own, None, own.clean, own.invalid)
    values = {**defaults.clean, **own.clean}
    for key in MERGED & own.clean.keys() & defaults.clean.keys():
        values[key] = _merge_mappings(defaults.clean[key], own.clean[key])
    inherited = {key for key in defaults.invalid if key not in own.raw or key in MERGED}
    if any(form in own.raw for form in DOCUMENT_FORMS):
        for form in DOCUMENT_FORMS:
            if form not in own.raw:
                values.pop(form, None)
                inherited.discard(form)
    return CaseSettings(own, defaults, values, own.invalid | inherited)


def _merge_mappings(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {**under, **over}
    for key, value in over.items():
        beneath = under.get(key)
        if isinstance(value, dict) and isinstance(beneath, dict):
            both[key] = _merge_mappings(beneath, value)
    return both
