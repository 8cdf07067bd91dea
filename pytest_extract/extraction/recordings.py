"""Recordings: stored outputs that replace calls of the extractor, one JSON file each, addressed by their inputs.

A file is `DIR/CASE/DIGEST.json`. Judge answers are stored in `DIR/judge` (`extraction.caching_judge`).

A recording is used if some case has the same document, schema, question and prompt. Models, parameters and repeats are
options of a run and make no recording unused. A recording for another git revision is used while its document exists.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pytest_extract.core.case_result import Usage
from pytest_extract.core.result_json import from_json, to_json
from pytest_extract.core.results import Failure
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.errors import NotWritten, StoreError, nearest
from pytest_extract.extraction.call import Extraction, recorded_params, usage_of
from pytest_extract.extraction.prompt import schema_for_model
from pytest_extract.files import display_path, making, read_regular_text, write_atomic
from pytest_extract.redact import Owned, clean_message, current, withheld, without_credentials

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case


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


DEFAULT_FOLDER: Final = "extract-recordings"
"""Folder of recordings where no option names another."""
JUDGE_FOLDER: Final = "judge"


def recording_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all recordings below `folder`, sorted, without the judge's."""
    return (path for path in sorted(folder.glob("*/*.json")) if path.parent.name != JUDGE_FOLDER)


RecordMode: TypeAlias = Literal["off", "none", "once", "new", "all"]
RECORD_MODES: Final[tuple[RecordMode, ...]] = ("off", "none", "once", "new", "all")
FORMAT: Final = 1
_LONGEST_SLUG: Final = 200
"""Bytes: file systems take 255."""


class NotRecorded(StoreError):
    """Replay only, and there is no fresh recording; the message has the reason and the command that records it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording as read from its file."""

    path: Path
    body: dict[str, Json]

    @property
    def digest(self) -> str:
        """The content address that it was stored under."""
        return str(self.body["digest"])

    @property
    def slot(self) -> tuple[Json, ...]:
        """As `RecordingKey.slot`."""
        inputs = self.body["inputs"]
        prompt = inputs["prompt"] and inputs["prompt"]["name"]
        place = (self.body["case"], inputs["model"], inputs["repeat"], prompt, self.body["revision"])
        return (*place, inputs.get("mode") or inputs["params"].get("mode"), bool(inputs.get("confirmation")))

    def extraction(self) -> Extraction:
        """Return the recorded output with its tokens, cost and latency, marked as recorded."""
        body = self.body
        return Extraction(
            _output(body["output"]),
            usage=None if body["usage"] is None else Usage(**body["usage"]),
            latency_s=body["latency_s"],
            cost_usd=body["cost_usd"],
            finish_reason=body["finish_reason"],
            recorded=True,
            failure=body["failure"] and from_json(Failure, body["failure"]),
            adjustments=tuple(body.get("adjustments", ())),
            notes=tuple(body["notes"]),
            extractor=body.get("extractor"),
            build=body.get("build"),
            confidence=body.get("confidence"),
            citations=body.get("citations"),
        )


class Recordings:
    """A folder of recordings, used as `mode` says.

    `once` and `new` both replay what is fresh, and call and record the rest; `new` also removes what that replaces, so
    that a slot (case, model, prompt file, repeat) keeps one recording. Safe to share between threads and processes.
    An output is recorded as it is, so that a replay is scored as the call was; one with a secret in it is not recorded.
    `options`: other options of the run that a recording depends on, for the command that renews it. `on_write_error` is
    called with each recording that cannot be written, `on_refused` with the reason why an output is not recorded.
    """

    def __init__(
        self,
        folder: Path,
        mode: RecordMode = "off",
        options: Sequence[str] = (),
        on_write_error: Callable[[NotWritten], None] | None = None,
        on_refused: Callable[[str], None] | None = None,
    ) -> None:
        if mode not in RECORD_MODES:
            raise StoreError(f"no recording mode {mode!r}{nearest(mode, RECORD_MODES)}")
        self.folder = folder
        self.mode = mode
        self._options = tuple(options)
        self._on_write_error = on_write_error
        self._on_refused = on_refused

    def obtain(self, key: RecordingKey, call: Callable[[], Extraction], owned: Owned | None = None) -> Extraction:
        """Return the recorded output, or that of `call`, which is recorded if the mode says so. Raises NotRecorded.

        Where outputs are replayed, of all that want the same one at once, in any process, one calls and the others wait
        for what it records; they call themselves when it failed. `owned`: as in `store`.
        """
        found = self.lookup(key)
        if found is not None:
            return found
        if self.mode not in {"once", "new"}:
            return self.store(key, call(), owned)
        with making(self.folder, [key.digest]):
            found = self.lookup(key)
            return found if found is not None else self.store(key, call(), owned)

    def lookup(self, key: RecordingKey) -> Extraction | None:
        """Return the fresh recording's output; None: call the extractor. Raises NotRecorded under `none`."""
        if self.mode in {"off", "all"}:
            return None
        path = self._find(key)
        if path is not None:
            return read_recording(path).extraction()
        if self.mode == "none":
            raise NotRecorded(self.explain(key))
        return None

    def store(self, key: RecordingKey, extraction: Extraction, owned: Owned | None = None) -> Extraction:
        """Record an output if the mode says so; return it, with a note where it was not recorded.

        `owned`: whether a secret is in the user's own files (gold, document), and so may be recorded.
        """
        if self.mode in {"off", "none"} or extraction.recorded:
            return extraction
        try:
            output = _stored(extraction.output)
            refusal = withheld(extraction.output, owned) or withheld(extraction.citations, owned)
            text = _dump(_body(key, extraction, output))
        except (TypeError, ValueError, RecursionError) as error:
            told = clean_message(f"not recorded: JSON cannot hold the output ({type(error).__name__}: {error})")
            return _noted(extraction, told)
        if refusal is not None:
            if self._on_refused is not None:
                self._on_refused(f"{key.nodeid or key.case}: {refusal}")
            return _noted(extraction, f"not recorded: {refusal}")
        path = self._path(key)
        try:
            write_atomic(path, text)
        except NotWritten as error:  # the output was paid for, so it is scored all the same
            if self._on_write_error is not None:
                self._on_write_error(error)
            return _noted(extraction, f"not recorded: {error}")
        if self.mode == "new":
            self._remove_replaced(key)
        return extraction

    def explain(self, key: RecordingKey) -> str:
        """Say why there is no fresh recording for `key`, and the command that makes one."""
        recorded = [found.body["inputs"] for found in self._of_case(key)]
        why = f"nothing is recorded for this case in {self.folder}"
        if recorded:
            nearest_one = min((changed_inputs(inputs, key) for inputs in recorded), key=len)
            why = "; ".join(nearest_one) or "a parameter changed that recordings do not show, as it may be a secret"
        if all(inputs["model"] != key.model for inputs in recorded):
            why += ", of which nothing is recorded" if recorded else ""
            why += " (an output that holds a secret never is: the run that called names it)"
        model = [f"--extract-model={key.model}"] if key.model else []
        words = [key.nodeid or key.case, *model, *self._options, "--extract-record=new"]
        command = " ".join(["pytest", *map(_quoted, words)])
        return f"no fresh recording of {key.nodeid or key.case}: {why}; renew it with: {command}"

    def _path(self, key: RecordingKey) -> Path:
        return self.folder / _slug(key.case) / f"{key.digest[:24]}.json"

    def _find(self, key: RecordingKey) -> Path | None:
        """Return the file of `key`: in its case's folder, or in another (a case renamed, or with equal inputs).

        Where the extractor can be called, what another one has made for another case is not its output.
        """
        path = self._path(key)
        if path.exists():
            return path
        anyones = key.extractor is None or self.mode == "none"
        elsewhere = _readable(self.folder.glob(f"*/{path.name}"))
        by = (None, key.extractor)
        return next((found.path for found in elsewhere if anyones or found.body.get("extractor") in by), None)

    def _of_case(self, key: RecordingKey) -> Iterator[Recording]:
        found = _readable(sorted((self.folder / _slug(key.case)).glob("*.json")))
        return (recording for recording in found if recording.body["case"] == key.case)

    def _remove_replaced(self, key: RecordingKey) -> None:
        for recording in self._of_case(key):
            if recording.slot == key.slot and recording.digest != key.digest:
                recording.path.unlink(missing_ok=True)


def _quoted(word: str) -> str:
    """Return a word as every shell, that of Windows too, takes it for one."""
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) and "::" not in word else f'"{word}"'


def _readable(paths: Iterable[Path]) -> Iterator[Recording]:
    """Yield the recordings that can be read: a damaged one beside that of a case is no fault of the case."""
    for path in paths:
        with suppress(StoreError):
            yield read_recording(path)


def read_recording(path: Path) -> Recording:
    """Read one recording; StoreError where the file is damaged or of another format."""
    try:
        body = json.loads(read_regular_text(path))
        if body["format"] != FORMAT:
            raise StoreError(
                f"{path}: recording of format {body['format']}, this version reads {FORMAT}; record it again"
            )
        recording = Recording(path, body)
        recording.extraction()
        _ = (recording.slot, recording.digest)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(
            f"{path}: no recording that can be read ({type(error).__name__}: {error}); delete it, or record it again "
            "with --extract-record=all"
        ) from error
    return recording


def _slug(case: str) -> str:
    name = re.sub(r"[^\w.\-]+", "-", re.sub(r"\.extract\.ya?ml(?=::)", "", case)).strip("-.")[-100:]
    name = name.encode()[-_LONGEST_SLUG:].decode(errors="ignore")
    return f"{name}-cases" if name == JUDGE_FOLDER else name or "case"


def _body(key: RecordingKey, extraction: Extraction, output: dict[str, Json]) -> dict[str, Json]:
    inputs = {name: part_json(getattr(key, name)) for name in ("document", "schema", "prompt")}
    usage, failure = usage_of(extraction.usage), extraction.failure
    return {
        "format": FORMAT,
        "case": key.case,
        "revision": key.revision,
        "digest": key.digest,
        "inputs": {**key.shown, **inputs},
        "extractor": extraction.extractor,
        "notes": [clean_message(note) for note in extraction.notes],
        "output": output,
        "failure": failure and to_json(dataclasses.replace(failure, message=clean_message(failure.message))),
        "finish_reason": extraction.finish_reason,
        "usage": usage and dataclasses.asdict(usage),
        "cost_usd": extraction.cost_usd,
        "latency_s": extraction.latency_s,
        **{
            name: value
            for name, value in (
                ("confidence", extraction.confidence),
                ("citations", extraction.citations),
                ("adjustments", list(extraction.adjustments) or None),
                ("build", extraction.build),
            )
            if value is not None
        },
    }


def _stored(output: Json) -> dict[str, Json]:
    """Return an output as JSON: the lines of a text, or a JSON value (as text, if it has a NaN)."""
    if isinstance(output, str):
        return {"text": output.split("\n")}
    try:
        stored = json.loads(json.dumps(output, allow_nan=False))
    except ValueError:
        return {"json_text": json.dumps(output)}
    if stored != output:
        raise TypeError("a tuple, or a key that is no string")
    return {"json": stored}


def _output(stored: dict[str, Json]) -> Json:
    if "text" in stored:
        return "\n".join(stored["text"])
    return stored["json"] if "json" in stored else json.loads(stored["json_text"])


def _noted(extraction: Extraction, note: str) -> Extraction:
    return dataclasses.replace(extraction, notes=(*extraction.notes, note))


def _dump(body: dict[str, Json]) -> str:
    text = json.dumps(body, indent=1, ensure_ascii=False)
    if any("\ud800" <= char <= "\udfff" for char in text):  # UTF-8 has no lone surrogates
        text = json.dumps(body, indent=1)
    return text + "\n"


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
