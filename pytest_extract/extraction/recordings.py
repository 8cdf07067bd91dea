"""Recordings: stored outputs that replace calls of the extractor, one JSON file each, addressed by their inputs.

A file is `DIR/CASE/DIGEST.json`. Judge answers are stored in `DIR/judge` (`extraction.caching_judge`).

A recording is used if some case has the same document, schema, question and prompt. Models, parameters and repeats are
options of a run and make no recording unused. One for another git revision is used while a case has its document.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.result_json import from_json, to_json
from pytest_extract.core.values import Json, canonical_json, text_digest
from pytest_extract.documents import DocumentError
from pytest_extract.errors import NotWritten, StoreError
from pytest_extract.extraction.call import Extraction, recorded_params
from pytest_extract.extraction.litellm import readable_json, schema_for_model
from pytest_extract.files import display_path, keep, making, read_kept, read_regular_text
from pytest_extract.redact import Owned, clean_message, current, withheld, without_credentials

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case


class KeyPart(NamedTuple):
    """One input of an extraction: its name for people (a path), and its digest (SHA-256, hex)."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingKey:
    """All inputs of an output (`digest`), and names for people (`case`, `nodeid`, `revision`).

    extractor_digest: that of the code that would be called, None where it is unknown; no input.

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
    extractor_digest: str | None = None
    given_text: str | None = None
    """Text of the document where a hook of the project gives it: the file alone does not decide what is read."""

    @property
    def digest(self) -> str:
        """Content address (SHA-256, hex)."""
        return text_digest(canonical_json(self.inputs))

    @property
    def inputs(self) -> dict[str, Json]:
        """What the digest is made of: a name to a plain value or a digest."""
        further = {
            # the parameters hold that of the built-in extractor, in a run of one mode as well
            "mode": None if self.mode == self.params.get("mode") else self.mode,
            "confirmation": self.confirmation,
            "text": None if self.given_text is None else text_digest(self.given_text),
        }
        return {
            "document": self.document.sha256,
            "model": self.model,
            "params": without_credentials(dict(self.params)),
            "prompt": self.prompt and self.prompt.sha256,
            "question": None if self.question is None else text_digest(self.question),
            "repeat": self.repeat,
            "schema": self.schema.sha256,
            **{name: value for name, value in further.items() if value},
        }

    @property
    def shown(self) -> dict[str, Json]:
        """`inputs` as they are recorded: files with names, parameters without all that may be a secret."""
        parts = {"document": self.document, "schema": self.schema, "prompt": self.prompt}
        named = {name: part and part._asdict() for name, part in parts.items()}
        return {**self.inputs, **named, "params": current().clean_settings(self.inputs["params"])}


def text_part(name: str, text: str) -> KeyPart:
    """Return the part of a text: a prompt, a text document."""
    return KeyPart(name, text_digest(text))


def json_part(name: str, value: Json) -> KeyPart:
    """Return the part of a JSON value (a schema): white space and the order of keys in its file do not count."""
    return KeyPart(name, text_digest(canonical_json(value)))


def recorded_case_name(case: Any, root: Path) -> str:
    """Return what a recording calls its case: the file, relative to `root`, and the id."""
    return f"{display_path(case.path, root)}::{case.id}"


def key_of(case: Any, *, extractor: object, root: Path, **run: Any) -> RecordingKey:
    """Return the key of a `Case` run by `extractor`; `run` has the other fields of the key.

    The extractor is asked for `extract_params` (a mapping) and `extract_schema` (schema -> what of it the model sees),
    if it has them. Names of files are relative to `root`.
    """
    seen = getattr(extractor, "extract_schema", None)
    path = case.document.file
    document = display_path(path, root) if path else f"text in {display_path(case.path, root)}"
    return RecordingKey(
        case=recorded_case_name(case, root),
        document=KeyPart(document, case.document.sha256),
        schema=json_part(display_path(case.schema_path, root), seen(case.schema) if callable(seen) else case.schema),
        prompt=case.prompt and text_part(display_path(case.prompt.path, root), case.prompt.text),
        question=case.question,
        params=recorded_params(extractor),
        given_text=case.document.given_text,
        **run,
    )


_FILES: Final = ("prompt", "schema", "document")


def changed_inputs(recorded: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    """Return, in words, each input in which a recording differs from what is asked for (`RecordingKey.shown`)."""
    before, after = _told(recorded), _told(now)
    moved = [
        name for name in _FILES if recorded[name] and now[name] and recorded[name]["sha256"] == now[name]["sha256"]
    ]
    return [
        f"recorded for {name} {before.get(name, 'none')}, now {after.get(name, 'none')}"
        for name in {**before, **after}
        if before.get(name) != after.get(name) and name not in moved
    ]


def _told(inputs: Mapping[str, Json]) -> dict[str, str]:
    """Return the inputs of an output as people read them; those that it has not got are left out."""
    told = {name: inputs[name] for name in ("model", "mode") if inputs.get(name)}
    files = {name: inputs[name] for name in _FILES if inputs[name]}
    told |= {name: f"{part['name']} ({part['sha256'][:8]})" for name, part in files.items()}
    digests = {"question": "question", "text from pytest_extract_document": "text"}
    told |= {told_as: inputs[name][:8] for told_as, name in digests.items() if inputs.get(name)}
    told |= {f"parameter {name}": canonical_json(value) for name, value in inputs["params"].items()}
    told["repeat"] = str(inputs["repeat"] + 1)
    return told | ({"confirmation": "yes"} if inputs.get("confirmation") else {})


DEFAULT_FOLDER: Final = "extract-recordings"
"""Folder of recordings where no option names another."""
JUDGE_FOLDER: Final = "judge"


def recording_files(folder: Path) -> Iterator[Path]:
    """Yield the files of all recordings below `folder`, sorted, without the judge's."""
    return (path for path in sorted(folder.glob("*/*.json")) if path.parent.name != JUDGE_FOLDER)


RecordMode: TypeAlias = Literal["off", "none", "once", "new", "all"]
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
        """What stays when the content of an input changes: recordings of one slot replace each other."""
        inputs = self.body["inputs"]
        prompt = inputs["prompt"] and inputs["prompt"]["name"]
        place = (self.body["case"], inputs["model"], inputs["repeat"], prompt, self.body["revision"])
        return (*place, inputs.get("mode") or inputs["params"].get("mode"), bool(inputs.get("confirmation")))

    def extraction(self) -> Extraction:
        """Return the recorded output with its tokens, cost and latency, marked as recorded."""
        fields = {each.name: self.body[each.name] for each in dataclasses.fields(Extraction) if each.name in self.body}
        stored = fields["output"]
        output = "\n".join(stored["text"]) if "text" in stored else stored["json"]
        extraction: Extraction = from_json(Extraction, fields | {"output": output, "recorded": True})
        return extraction


@dataclass(frozen=True, slots=True)
class Recordings:
    """A folder of recordings, used as `mode` says.

    `once` and `new` both replay what is fresh, and call and record the rest; `new` also removes what that replaces, so
    that a slot (case, model, prompt file, repeat) keeps one recording. Safe to share between threads and processes.
    An output is recorded as it is, so that a replay is scored as the call was; one with a secret in it is not recorded.
    `options`: other options of the run that a recording depends on, for the command that renews it. `on_write_error` is
    called with each recording that cannot be written, `on_refused` with the reason why an output is not recorded.
    """

    folder: Path
    mode: RecordMode = "off"
    options: Sequence[str] = ()
    on_write_error: Callable[[NotWritten], None] | None = None
    on_refused: Callable[[str], None] | None = None

    def obtain(self, key: RecordingKey, call: Callable[[], Extraction], owned: Owned | None = None) -> Extraction:
        """Return the recorded output, or that of `call`, which is recorded if the mode says so. Raises NotRecorded.

        Where outputs are replayed, of all that want the same one at once, in any process, one calls and the others wait
        for what it records; they call themselves when it failed. `owned`: as in `store`.
        """
        if (found := self.lookup(key)) is not None:
            return found
        with making(self.folder, [key.digest]) if self.mode in {"once", "new"} else nullcontext():
            return self.lookup(key) or self.store(key, call(), owned)

    def lookup(self, key: RecordingKey) -> Extraction | None:
        """Return the fresh recording's output; None: call the extractor. Raises NotRecorded under `none`.

        It is in the folder of its case, or in another (a case renamed, or with equal inputs): where the extractor can
        be called, what another one has made for another case is not its output.
        """
        if self.mode in {"off", "all"}:
            return None
        path = self._path(key)
        if path.exists():
            return read_recording(path).extraction()
        for found in _readable(self.folder.glob(f"*/{path.name}")):
            by = found.body.get("extractor")
            if self.mode == "none" or key.extractor_digest is None or by in (None, key.extractor_digest):
                return found.extraction()
        if self.mode == "none":
            raise NotRecorded(self.explain(key))
        return None

    def store(self, key: RecordingKey, extraction: Extraction, owned: Owned | None = None) -> Extraction:
        """Record an output if the mode says so; return it, with a note where it was not recorded.

        `owned`: whether a secret is in the user's own files (gold, document), and so may be recorded.
        """
        if self.mode in {"off", "none"} or extraction.recorded:
            return extraction
        refusal = withheld(extraction.output, owned) or withheld(extraction.citations, owned)
        if refusal is not None:
            if self.on_refused is not None:
                self.on_refused(f"{key.nodeid or key.case}: {refusal}")
            return _noted(extraction, f"not recorded: {refusal}")
        path, body = self._path(key), _body(key, extraction)
        error = keep(path, readable_json(body) + "\n", self.on_write_error)
        if error is not None:
            return _noted(extraction, f"not recorded: {error}")
        if self.mode == "new":
            new = Recording(path, body)
            for old in self._of_case(key):
                if old.slot == new.slot and old.digest != new.digest:
                    old.path.unlink(missing_ok=True)
        return extraction

    def explain(self, key: RecordingKey) -> str:
        """Say why there is no fresh recording for `key`, and the command that makes one."""
        recorded = [found.body["inputs"] for found in self._of_case(key)]
        why = f"nothing is recorded for this case in {self.folder} (an output that holds a secret never is)"
        if recorded:
            nearest_one = min((changed_inputs(inputs, key.shown) for inputs in recorded), key=len)
            why = "; ".join(nearest_one) or "a parameter changed that recordings do not show, as it may be a secret"
        model = [f"--extract-model={key.model}"] if key.model else []
        words = [key.nodeid or key.case, *model, *self.options, "--extract-record=new"]
        command = " ".join(["pytest", *map(_quoted, words)])
        return f"no fresh recording of {key.nodeid or key.case}: {why}; renew it with: {command}"

    def _path(self, key: RecordingKey) -> Path:
        return self.folder / _slug(key.case) / f"{key.digest[:24]}.json"

    def _of_case(self, key: RecordingKey) -> Iterator[Recording]:
        found = _readable(sorted((self.folder / _slug(key.case)).glob("*.json")))
        return (recording for recording in found if recording.body["case"] == key.case)


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

    def read(body: Json) -> Recording:
        if body["format"] != FORMAT:
            raise ValueError(f"recording of format {body['format']}, this version reads {FORMAT}")
        recording = Recording(path, body)
        recording.extraction()
        _ = (recording.slot, recording.digest)
        return recording

    return read_kept(path, "recording", read)


def _slug(case: str) -> str:
    name = re.sub(r"[^\w.\-]+", "-", re.sub(r"\.extract\.ya?ml(?=::)", "", case)).strip("-.")[-100:]
    name = name.encode()[-_LONGEST_SLUG:].decode(errors="ignore")
    return f"{name}-cases" if name == JUDGE_FOLDER else name or "case"


def _body(key: RecordingKey, extraction: Extraction) -> dict[str, Json]:
    output, failure = extraction.output, extraction.failure
    clean = dataclasses.replace(
        extraction,
        failure=failure and dataclasses.replace(failure, message=clean_message(failure.message)),
        notes=tuple(map(clean_message, extraction.notes)),
    )
    return {
        "format": FORMAT,
        "case": key.case,
        "revision": key.revision,
        "digest": key.digest,
        "inputs": key.shown,
        **to_json(clean),
        "output": {"text": output.split("\n")} if isinstance(output, str) else {"json": output},
    }


def _noted(extraction: Extraction, note: str) -> Extraction:
    return dataclasses.replace(extraction, notes=(*extraction.notes, note))


def unused_recordings(recordings: Iterable[Recording], cases: Iterable[Case], root: Path) -> Iterator[Recording]:
    """Yield the recordings that none of `cases` can use any more; reads the documents of cases.

    `root` is what names in recordings are relative to. One whose case file is there, but has none of `cases`, is left
    out: nobody has looked at its case. So is one of a case whose document cannot be read, or altered so. A prompt that
    no case has counts while its file is as it was, since it was given on the command line.
    """
    files: set[str] = set()
    unread: set[str] = set()
    usable: set[tuple[Json, ...]] = set()
    for case in cases:
        files.add(display_path(case.path, root))
        try:
            document = case.document.sha256
        except DocumentError:
            unread.add(recorded_case_name(case, root))
            continue
        question = None if case.question is None else text_digest(case.question)
        prompt = None if case.prompt is None else text_digest(case.prompt.text)
        for schema in (case.schema, schema_for_model(case.schema)):  # as an extractor may see it
            inputs = (document, question, text_digest(canonical_json(schema)), prompt)
            usable |= {inputs[:1], inputs[:3], inputs}
    for recording in recordings:
        file = recording.body["case"].rpartition("::")[0]
        if recording.body["case"] in unread or (file not in files and (root / file).exists()):
            continue
        inputs = recording.body["inputs"]
        document, schema, prompt = inputs["document"]["sha256"], inputs["schema"]["sha256"], inputs["prompt"]
        needed: tuple[Json, ...] = (document, inputs["question"], schema, prompt and prompt["sha256"])
        if recording.body["revision"] is not None:
            needed = needed[:1]
        elif _is_prompt_file(prompt, root):
            needed = needed[:3]
        if needed not in usable:
            yield recording


def _is_prompt_file(prompt: Json, root: Path) -> bool:
    """Whether a recorded prompt is a file that is still there, as it was."""
    try:
        return bool(prompt) and text_digest(read_regular_text(root / prompt["name"])) == prompt["sha256"]
    except (OSError, ValueError):
        return False
