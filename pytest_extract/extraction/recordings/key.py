"""The inputs of an output as digests: the address of a recording, and the reasons why a recording is stale."""

from __future__ import annotations

import difflib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.extraction.call import recorded_params
from pytest_extract.files import display_path
from pytest_extract.redact.secrets import current, without_credentials

_LINES_KEPT: Final = 400
"""Longest text whose lines are kept as digests, so that a change can be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """One input of an extraction: its name for people (a path), its digest (SHA-256, hex), and digests of its lines.

    `lines` are CRC-32 (8 hex digits) each, joined by spaces; empty for binaries and long texts.
    """

    name: str
    sha256: str
    lines: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingKey:
    """All inputs of an output (`digest`), and names for people (`case`, `nodeid`, `revision`).

    extractor: the digest of the code that would be called, None where it is unknown; no input.

    case: `invoices/acme.extract.yaml::acme`; nodeid: the item's own, for the command that renews the recording.
    params: the extractor's parameters (`recorded_params`); credentials in them count as their replacement.
    revision: the git revision whose prompt and schema these are, None for the work tree's. mode: of a run that compares
    several modes. confirmation: a fresh run of a case that fell (`--extract-confirm`), which no recording of another
    run replaces.
    """

    case: str
    document: KeyPart
    schema: KeyPart
    prompt: KeyPart | None = None
    question: str | None = None
    model: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    repeat: int = 0
    nodeid: str = ""
    revision: str | None = None
    mode: str | None = None
    confirmation: bool = False
    extractor: str | None = None
    given_text: str | None = None
    """Text of the document where a hook of the project gives it: the file alone does not decide what is read."""

    @property
    def digest(self) -> str:
        """Content address (SHA-256, hex)."""
        return text_digest(canonical_json(self.inputs))

    @property
    def inputs(self) -> dict[str, Json]:
        """What the digest is made of: a name to a plain value or a digest."""
        return {
            "document": self.document.sha256,
            "model": self.model,
            "params": without_credentials(dict(self.params)),
            "prompt": self.prompt and self.prompt.sha256,
            "question": None if self.question is None else text_digest(self.question),
            "repeat": self.repeat,
            "schema": self.schema.sha256,
            # the parameters hold that of the built-in extractor, in a run of one mode as well
            **({} if self.mode in (None, self.params.get("mode")) else {"mode": self.mode}),
            **({"confirmation": True} if self.confirmation else {}),
            **({} if self.given_text is None else {"text": text_digest(self.given_text)}),
        }

    @property
    def shown(self) -> dict[str, Json]:
        """`inputs` as they may be written or printed: without all that may be a secret, which the digest counts."""
        return {**self.inputs, "params": current().clean_settings(self.inputs["params"])}

    @property
    def slot(self) -> tuple[Json, ...]:
        """What stays when the content of an input changes: recordings of one slot replace each other."""
        prompt = self.prompt and self.prompt.name
        mode = self.mode or self.params.get("mode")
        return (self.case, self.model, self.repeat, prompt, self.revision, mode, self.confirmation)


def text_part(name: str, text: str) -> KeyPart:
    """Return the part of a text: a prompt, a text document."""
    return KeyPart(name=name, sha256=text_digest(text), lines=_line_digests(text))


def json_part(name: str, value: Json) -> KeyPart:
    """Return the part of a JSON value (a schema): white space and the order of keys in its file do not count."""
    pretty = json.dumps(value, indent=1, sort_keys=True)
    return KeyPart(name=name, sha256=text_digest(canonical_json(value)), lines=_line_digests(pretty))


def document_part(name: str, document: Any) -> KeyPart:
    """Return the part of a `Document`: its own digest, and line digests of a text."""
    is_text = document.media_type.startswith("text/")
    lines = _line_digests(document.bytes.decode("utf-8", "replace")) if is_text else ""
    return KeyPart(name=name, sha256=document.sha256, lines=lines)


def recorded_case_name(case: Any, root: Path) -> str:
    """Return what a recording calls its case: the file, relative to `root`, and the id."""
    return f"{display_path(case.path, root)}::{case.id}"


def key_of(
    case: Any,
    *,
    extractor: object,
    nodeid: str,
    root: Path,
    model: str | None = None,
    prompt: Any = None,
    repeat: int = 0,
    revision: str | None = None,
    mode: str | None = None,
    confirmation: bool = False,
    extractor_digest: str | None = None,
) -> RecordingKey:
    """Return the key of a `Case` run by `extractor`.

    The extractor is asked for `extract_params` (a mapping) and `extract_schema` (schema -> what of it the model sees),
    if it has them. `prompt` replaces the case's own; names of files are relative to `root`.
    """
    used = prompt if prompt is not None else case.prompt
    seen = getattr(extractor, "extract_schema", None)
    path = case.document.file
    return RecordingKey(
        case=recorded_case_name(case, root),
        document=document_part(
            display_path(path, root) if path else f"text in {display_path(case.path, root)}", case.document
        ),
        schema=json_part(display_path(case.schema_path, root), seen(case.schema) if callable(seen) else case.schema),
        prompt=None if used is None else text_part(display_path(used.path, root), used.text),
        question=case.question,
        model=model,
        params=recorded_params(extractor),
        repeat=repeat,
        nodeid=nodeid,
        revision=revision,
        mode=mode,
        confirmation=confirmation,
        extractor=extractor_digest,
        given_text=case.document.given_text,
    )


def changed_inputs(recorded: Mapping[str, Json], key: RecordingKey) -> list[str]:
    """Return, in words, each input in which a recording (its `inputs` object) differs from `key`."""
    found: list[str] = []
    if recorded["model"] != key.model:
        found.append(f"recorded for model {recorded['model'] or 'none'}, now {key.model or 'none'}")
    for name in ("prompt", "schema", "document"):
        found.extend(_part_change(name, recorded[name], getattr(key, name)))
    if recorded.get("text") != key.inputs.get("text"):
        found.append("the text that pytest_extract_document gives changed")
    if recorded["question"] != key.inputs["question"]:
        found.append("the question changed")
    found.extend(_param_changes(recorded["params"], key.shown["params"]))
    mode, mode_now = recorded.get("mode"), key.inputs.get("mode")
    if mode != mode_now:
        found.append(f"recorded for mode {mode or 'none'}, now {mode_now or 'none'}")
    if recorded["repeat"] != key.repeat:
        found.append(f"recorded for repeat {recorded['repeat'] + 1}, now repeat {key.repeat + 1}")
    if bool(recorded.get("confirmation")) != key.confirmation:
        found.append("a confirmation needs runs of its own" if key.confirmation else "recorded for a confirmation")
    return found


def part_json(part: KeyPart | None) -> Json:
    """Return a part as it is written into a recording."""
    return part and {"name": part.name, "sha256": part.sha256, "lines": part.lines}


def _part_change(what: str, old: Json, new: KeyPart | None) -> list[str]:
    if old is None and new is None:
        return []
    if old is None or new is None:
        return [
            f"recorded {f'with {what} ' + old['name'] if old else f'without a {what}'}, now "
            + (f"{what} {new.name}" if new else f"without a {what}")
        ]
    if old["sha256"] == new.sha256:
        return []
    what_of = f"{new.name} changed" if old["name"] == new.name else f"{old['name']} became {new.name}"
    lines = _lines_changed(old["lines"], new.lines)
    counted = f", {lines} line{'s' * (lines != 1)}" if lines else ""
    return [f"recorded for {what} {old['sha256'][:8]}, now {new.sha256[:8]}: {what_of}{counted}"]


def _param_changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    def said(params: Mapping[str, Json], name: str) -> str:
        return f"{name}={canonical_json(params[name])}" if name in params else f"no {name}"

    names = sorted({*old, *new})
    return [
        f"recorded with {said(old, name)}, now {said(new, name)}"
        for name in names
        if (name in old, old.get(name)) != (name in new, new.get(name))
    ]


def _line_digests(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > _LINES_KEPT:
        return ""
    return " ".join(f"{zlib.crc32(line.encode('utf-8', 'surrogatepass')):08x}" for line in lines)


def _lines_changed(old: str, new: str) -> int:
    """Count the lines that differ; 0 where one side keeps no lines."""
    if not old or not new:
        return 0
    codes = difflib.SequenceMatcher(None, old.split(), new.split(), autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in codes if tag != "equal")
