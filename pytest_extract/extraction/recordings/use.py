"""Unused recordings: those that no case can use any more, found from the case files without a run.

A recording is used if some case has the same document, schema, question and prompt. Models, parameters and repeats are
options of a run and make no recording unused. A recording for another git revision is used while its document exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_extract.core.values import Json, text_digest
from pytest_extract.extraction.prompt import schema_for_model
from pytest_extract.extraction.recordings.key import json_part, recorded_case_name, text_part
from pytest_extract.files import read_regular_text

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case
    from pytest_extract.extraction.recordings.store import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a case gives an extractor, as digests; the schema whole, and as the built-in extractor shows it."""

    name: str
    document: str
    schemas: frozenset[str]
    question: str | None
    prompt: str | None


def inputs_of(case: Case, root: Path) -> Inputs:
    """Return the inputs of a case; reads its document."""
    return Inputs(
        name=recorded_case_name(case, root),
        document=case.document.sha256,
        schemas=frozenset(json_part("", schema).sha256 for schema in (case.schema, schema_for_model(case.schema))),
        question=None if case.question is None else text_digest(case.question),
        prompt=None if case.prompt is None else text_part("", case.prompt.text).sha256,
    )


class CaseInputs:
    """The inputs of all cases that were looked at; `root` is what names in recordings are relative to."""

    def __init__(self, inputs: Iterable[Inputs], root: Path) -> None:
        self._root = root
        self._by_name: dict[str, Inputs] = {}
        self._by_document: dict[str, list[Inputs]] = {}
        self._prompts: dict[str, str | None] = {}
        for item in inputs:
            self._by_name[item.name] = item
            self._by_document.setdefault(item.document, []).append(item)
        self._files = {name.rpartition("::")[0] for name in self._by_name}

    def why_unused(self, recording: Recording) -> str | None:
        """Return why no case can use a recording; None if one can, or if its case file exists but was not read."""
        body = recording.body
        inputs: Mapping[str, Json] = body["inputs"]
        same_document = self._by_document.get(inputs["document"]["sha256"], [])
        if any(not self._changes(body, item) for item in same_document):
            return None
        own = self._by_name.get(body["case"])
        if own is not None:
            return ", ".join(f"{what} changed" for what in self._changes(body, own))
        file = body["case"].rpartition("::")[0]
        if file not in self._files and (self._root / file).exists():
            return None
        return "its case is gone"

    def _changes(self, body: Mapping[str, Json], case: Inputs) -> Sequence[str]:
        recorded = body["inputs"]
        changes = [] if recorded["document"]["sha256"] == case.document else ["document"]
        if body["revision"] is not None:
            return changes
        if recorded["schema"]["sha256"] not in case.schemas:
            changes.append("schema")
        if recorded["question"] != case.question:
            changes.append("question")
        return changes if self._has_prompt(recorded["prompt"], case) else [*changes, "prompt"]

    def _has_prompt(self, recorded: Json, case: Inputs) -> bool:
        """Whether the prompt is still there: the case's own, or a file that was given on the command line."""
        if recorded is None or recorded["sha256"] == case.prompt:
            return recorded is not None or case.prompt is None
        return bool(self._prompt_file(recorded["name"]) == recorded["sha256"])

    def _prompt_file(self, name: str) -> str | None:
        if name not in self._prompts:
            try:
                text = read_regular_text(self._root / name)
            except (OSError, ValueError):
                self._prompts[name] = None
            else:
                self._prompts[name] = text_part("", text).sha256
        return self._prompts[name]
