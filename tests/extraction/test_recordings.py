"""Recordings: modes, staleness in words, secrets, many writers, and outputs of every kind."""

from __future__ import annotations

import dataclasses
import json
import math
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given

from pytest_extract import redact as secrets
from pytest_extract.core.case_result import Usage
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.errors import StoreError
from pytest_extract.extraction.call import Extraction
from pytest_extract.extraction.litellm import LitellmExtractor
from pytest_extract.extraction.recordings import (
    KeyPart,
    NotRecorded,
    RecordingKey,
    Recordings,
    json_part,
    key_of,
    read_recording,
    recording_files,
    text_part,
)
from pytest_extract.redact import withheld
from tests.redact.corpus import LEGAL, SECRETS, made
from tests.strategies import json_values, nested

PROMPT = "Read the invoice.\nTake the total.\nTake the date.\nAnswer in JSON.\n"
KEY = RecordingKey(
    case="invoices/acme.extract.yaml::acme",
    nodeid="invoices/acme.extract.yaml::acme[openai/x]",
    document=KeyPart(name="acme.pdf", sha256="d" * 64),
    schema=json_part("invoice.schema.json", {"type": "object"}),
    prompt=text_part("prompts/invoice.md", PROMPT),
    question="What?",
    model="openai/x",
    params={"mode": "prompt"},
)
OUTPUT = Extraction('{"a": 1}\n', usage=Usage(prompt_tokens=3), latency_s=1.5, cost_usd=0.25, finish_reason="stop")


class Calls:
    """An extractor's boundary that counts."""

    def __init__(self, output=OUTPUT):
        self.output = output
        self.count = 0

    def __call__(self):
        self.count += 1
        return self.output


def changed(**parts):
    return dataclasses.replace(KEY, **parts)


NEW_PROMPT = PROMPT.replace("total", "sum").replace("date", "day").replace("JSON", "YAML")
STALE = changed(prompt=text_part("prompts/invoice.md", NEW_PROMPT))


def files(folder):
    return [path.relative_to(folder).as_posix() for path in recording_files(folder)]


def test_a_replay_gives_the_output_and_the_recorded_numbers(tmp_path):
    Recordings(tmp_path, "once").obtain(KEY, Calls())
    got = Recordings(tmp_path, "none").obtain(KEY, Calls())
    assert got == dataclasses.replace(OUTPUT, recorded=True)


MODES = {
    "off": (1, 1, 1, 0),
    "once": (1, 0, 1, 2),
    "new": (1, 0, 1, 1),
    "all": (1, 1, 1, 2),
}
"""Mode: calls at first, for a fresh recording, for a stale one; files at the end."""


@pytest.mark.parametrize(("mode", "expected"), MODES.items(), ids=MODES)
def test_modes(tmp_path, mode, expected):
    counts = []
    for key in (KEY, KEY, STALE):
        calls = Calls()
        Recordings(tmp_path, mode).obtain(key, calls)
        counts.append(calls.count)
    assert (*counts, len(files(tmp_path))) == expected


def test_all_overwrites(tmp_path):
    Recordings(tmp_path, "all").obtain(KEY, Calls())
    Recordings(tmp_path, "all").obtain(KEY, Calls(Extraction("new")))
    assert Recordings(tmp_path, "none").obtain(KEY, Calls()).output == "new"


def test_new_keeps_other_slots(tmp_path):
    others = [
        changed(model="openai/y"),
        changed(repeat=1),
        changed(revision="main", document=KeyPart(name="acme.pdf", sha256="f" * 64)),
        changed(prompt=text_part("prompts/other.md", "Read.")),
        changed(case="invoices/acme.extract.yaml::other", question="Other?"),
    ]
    recordings = Recordings(tmp_path, "new")
    for key in (*others, KEY, STALE):
        recordings.obtain(key, Calls())
    for key in (*others, STALE):
        assert Recordings(tmp_path, "none").lookup(key) is not None
    with pytest.raises(NotRecorded):
        Recordings(tmp_path, "none").lookup(KEY)


def test_an_unknown_mode_is_refused(tmp_path):
    with pytest.raises(StoreError, match="did you mean 'once'"):
        Recordings(tmp_path, "onse")


WHY = {
    "prompt": (STALE, r"recorded for prompt prompts/invoice\.md \(\w{8}\), now prompts/invoice\.md \(\w{8}\); renew"),
    "other prompt": (changed(prompt=text_part("b.md", "x")), r"prompts/invoice\.md \(\w{8}\), now b\.md \(\w{8}\)"),
    "no prompt": (changed(prompt=None), r"recorded for prompt prompts/invoice\.md \(\w{8}\), now none"),
    "document": (
        changed(document=KeyPart(name="acme.pdf", sha256="e" * 64)),
        r"recorded for document acme\.pdf \(dddddddd\), now acme\.pdf \(eeeeeeee\); renew",
    ),
    "moved document": (
        changed(document=KeyPart(name="moved/acme.pdf", sha256="d" * 64), repeat=2),
        r"\[openai/x\]: recorded for repeat 1, now 3; renew",
    ),
    "schema": (changed(schema=json_part("invoice.schema.json", {"type": "array"})), r"recorded for schema invoice\."),
    "question": (changed(question=None), r"recorded for question \w{8}, now none; renew"),
    "model": (changed(model="openai/y"), "recorded for model openai/x, now openai/y; renew"),
    "parameters": (
        changed(params={"mode": "structured", "top_p": 1}),
        'recorded for parameter mode "prompt", now "structured"; recorded for parameter top_p none, now 1; renew',
    ),
    "mode": (changed(mode="structured"), "recorded for mode none, now structured; renew"),
    "repeat": (changed(repeat=2), "recorded for repeat 1, now 3; renew"),
    "confirmation": (changed(confirmation=True), "recorded for confirmation none, now yes; renew"),
    "given text": (changed(given_text="x"), r"recorded for text from pytest_extract_document none, now \w{8}; renew"),
    "nothing": (changed(case="other.extract.yaml::x"), r"nothing is recorded for this case in \S+ \(an output that"),
}


@pytest.mark.parametrize(("key", "why"), WHY.values(), ids=WHY)
def test_replay_only_says_why_it_is_stale_and_how_to_renew(tmp_path, key, why):
    if key.case != KEY.case:
        key = dataclasses.replace(key, question="another")
    Recordings(tmp_path, "once").obtain(KEY, Calls())
    calls = Calls()
    with pytest.raises(NotRecorded, match=why) as caught:
        Recordings(tmp_path, "none").obtain(key, calls)
    assert calls.count == 0
    assert f'pytest "{key.nodeid}" --extract-model={key.model} --extract-record=new' in str(caught.value)


def test_a_recording_of_one_mode_serves_a_run_of_several(tmp_path):
    Recordings(tmp_path, "new").obtain(KEY, Calls())
    other = changed(mode="structured", params={"mode": "structured"})
    assert not Recordings(tmp_path, "new").obtain(other, Calls()).recorded
    for key in (KEY, changed(mode="prompt"), other):  # neither mode has replaced the other
        assert Recordings(tmp_path, "none").obtain(key, Calls()).recorded


def test_the_nearest_recording_explains(tmp_path):
    recordings = Recordings(tmp_path, "once")
    recordings.obtain(changed(model="openai/y", prompt=None), Calls())
    recordings.obtain(changed(question="Who?"), Calls())
    assert "acme[openai/x]: recorded for question " in recordings.explain(KEY)


@pytest.mark.parametrize("name", ["請求書の合計金額を確認する" * 8, "a" * 300, "é" * 200])
def test_a_case_may_have_a_name_of_any_length(tmp_path, name):
    key = changed(case=f"{name}.extract.yaml::{name}")
    assert Recordings(tmp_path, "once").obtain(key, Calls()).notes == ()
    assert Recordings(tmp_path, "none").obtain(key, Calls()).recorded


def test_a_renamed_case_keeps_its_recordings(tmp_path):
    Recordings(tmp_path, "once").obtain(KEY, Calls())
    assert Recordings(tmp_path, "none").lookup(changed(case="moved/acme.extract.yaml::acme")) is not None


def test_another_format_and_a_damaged_file_are_told(tmp_path):
    Recordings(tmp_path, "once").obtain(KEY, Calls())
    (path,) = recording_files(tmp_path)
    body = json.loads(path.read_text())
    for text, message in (
        (json.dumps({**body, "format": 99}), "recording of format 99"),
        ("{", "delete it, or record it again"),
        ("[]", "delete it, or record it again"),
        (json.dumps({**body, "output": {}}), "KeyError"),
    ):
        path.write_text(text)
        with pytest.raises(StoreError, match=message):
            Recordings(tmp_path, "once").lookup(KEY)


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "{}", '{"format": 99}'])
def test_a_damaged_file_beside_a_recording_breaks_no_case(tmp_path, text):
    Recordings(tmp_path, "new").obtain(STALE, Calls())
    (stale,) = recording_files(tmp_path)
    stale.with_name("bad.json").write_text(text)
    with pytest.raises(NotRecorded, match="recorded for prompt prompts/invoice"):
        Recordings(tmp_path, "none").obtain(KEY, Calls())
    assert Recordings(tmp_path, "new").obtain(KEY, Calls()) == OUTPUT
    assert not stale.exists()


OUTPUTS = {
    "text": "line 1\nline 2\r\n",
    "empty": "",
    "object": {"b": 1, "a": [None, True, 1.5]},
    "big number": {"n": 10**400},
    "lone surrogate": {"s": "\ud800 ä"},
    "text with one": "\udc00",
    "infinite": {"n": math.inf},
    "null": None,
}


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_outputs_survive_the_file(tmp_path, output):
    Recordings(tmp_path, "once").obtain(KEY, Calls(Extraction(output)))
    got = Recordings(tmp_path, "none").obtain(KEY, Calls())
    assert got.output == output
    assert got.notes == ()
    if isinstance(output, dict):
        assert list(got.output) == list(output)


@given(json_values)
def test_any_json_survives_the_file(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("r")
    Recordings(folder, "once").obtain(KEY, Calls(Extraction(value)))
    assert json.dumps(Recordings(folder, "none").obtain(KEY, Calls()).output) == json.dumps(value)


UNRECORDABLE = {
    "a set": {"a": {1}},
    "10,000 deep": nested(10_000, []),
    "too many digits": [10**5000],
}


@pytest.mark.parametrize("output", UNRECORDABLE.values(), ids=UNRECORDABLE)
def test_what_json_cannot_hold_is_not_recorded_and_says_so(tmp_path, output):
    got = Recordings(tmp_path, "once").obtain(KEY, Calls(Extraction(output)))
    assert got.output is output
    assert got.notes[0].startswith("not recorded: JSON cannot hold the output")
    assert files(tmp_path) == []


def test_a_failure_is_recorded(tmp_path):
    failure = Failure(kind=FailureKind.REFUSAL, message="No.", line=3, column=4)
    Recordings(tmp_path, "once").obtain(KEY, Calls(Extraction(None, failure=failure)))
    assert Recordings(tmp_path, "none").obtain(KEY, Calls()).failure == failure


SECRET = SECRETS["openai, project"]


@pytest.mark.parametrize("output", [json.dumps({"a": SECRET}), {"a": [{"password": "x", "b": SECRET}]}], ids=type)
def test_an_output_with_a_secret_is_not_recorded_and_says_so(tmp_path, output):
    refused = []
    recordings = Recordings(tmp_path, "once", on_refused=refused.append)
    live = recordings.obtain(KEY, Calls(Extraction(output)))
    assert live.output == output
    assert live.notes == (f"not recorded: {withheld(output)}",)
    assert refused == [f"{KEY.nodeid}: {withheld(output)}"]
    assert list(recording_files(tmp_path)) == []
    recordings.obtain(KEY, Calls(Extraction(output)), lambda secret: secret.text == SECRET)
    assert Recordings(tmp_path, "none").obtain(KEY, Calls()).output == output


def test_what_is_recorded_beside_an_output_holds_no_secret(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "_current", None)
    planted = made("{a32}")
    monkeypatch.setenv("SOME_API_KEY", planted)
    key = changed(params={"extra_headers": {"Authorization": f"Bearer {SECRET}", "x": planted}})
    failure = Failure(kind=FailureKind.REFUSAL, message=f"Authorization: Bearer {SECRET}, X: {planted}")
    Recordings(tmp_path, "once").obtain(key, Calls(Extraction(None, failure=failure)))
    (path,) = recording_files(tmp_path)
    assert SECRET not in path.read_text()
    assert planted not in path.read_text()
    assert Recordings(tmp_path, "none").obtain(key, Calls()).failure.message.endswith("X: [redacted: SOME_API_KEY]")


def test_the_data_of_a_document_is_recorded_as_it_is(tmp_path):
    for number, output in enumerate((*LEGAL, {"rows": LEGAL}, json.dumps(LEGAL))):
        key = changed(question=str(number))
        assert Recordings(tmp_path, "once").obtain(key, Calls(Extraction(output))).notes == ()
        assert Recordings(tmp_path, "none").obtain(key, Calls()).output == output


def test_the_notes_of_an_output_are_replayed_without_secrets(tmp_path):
    noted = dataclasses.replace(OUTPUT, notes=("read twice", f"with {SECRET}"))
    Recordings(tmp_path, "once").obtain(KEY, Calls(noted))
    notes = Recordings(tmp_path, "none").obtain(KEY, Calls()).notes
    assert (notes[0], "[redacted" in notes[1], SECRET in notes[1]) == ("read twice", True, False)


def test_a_recording_of_an_earlier_version_is_read_with_its_note(tmp_path):
    Recordings(tmp_path, "once").obtain(KEY, Calls(Extraction("[redacted: API key]")))
    (path,) = recording_files(tmp_path)
    body = json.loads(path.read_text()) | {"redacted": True, "notes": ["the recording has 1 secret(s) taken out"]}
    path.write_text(json.dumps(body))
    assert Recordings(tmp_path, "none").obtain(KEY, Calls()).notes == ("the recording has 1 secret(s) taken out",)


def test_the_address_holds_no_secret_parameter():
    first = changed(params={"api_key": "one-secret"})
    assert first.digest == changed(params={"api_key": "other-secret"}).digest
    assert first.digest != changed(params={"api_base": "x"}).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"stop_token": "<END1>"}, {"stop_token": "<END2>"}),
        ({"system": "Mark rows with token=INVOICE_A1"}, {"system": "Mark rows with token=INVOICE_B2"}),
        ({"system": 'If unsure, write "api_key": "UNKNOWN"'}, {"system": 'If unsure, write "api_key": "NOT_THERE"'}),
        ({"example": {"token": "USDC-ETH"}}, {"example": {"token": "BTC-ETH"}}),
    ],
)
def test_a_parameter_that_only_looks_like_a_secret_makes_recordings_stale_and_is_not_written(tmp_path, old, new):
    Recordings(tmp_path, "new").obtain(changed(params=old), Calls())
    (path,) = recording_files(tmp_path)
    assert "[redacted" in path.read_text()
    assert read_recording(path).body["inputs"]["params"] == secrets.NOTHING_KNOWN.clean_settings(old)
    with pytest.raises(NotRecorded, match="a parameter changed that recordings do not show"):
        Recordings(tmp_path, "none").obtain(changed(params=new), Calls())
    assert not Recordings(tmp_path, "new").obtain(changed(params=new), Calls()).recorded


def test_the_address_holds_no_key_of_a_known_format():
    keys = (changed(params={"url": f"https://x/?{made('sk-proj-{w74}T3BlbkFJ{w74}', seed)}"}) for seed in range(2))
    assert len({key.digest for key in keys}) == 1


def test_an_ordinary_output_is_not_marked(tmp_path):
    Recordings(tmp_path, "once").obtain(KEY, Calls())
    (path,) = recording_files(tmp_path)
    recording = read_recording(path)
    assert recording.body["notes"] == []
    assert recording.body["output"] == {"text": ['{"a": 1}', ""]}
    assert path.parent.name == "invoices-acme-acme"


def _write_often(folder):
    for index in range(20):
        Recordings(Path(folder), "all").store(KEY, Extraction({"rows": [index] * 2000}))


def test_many_writers_leave_whole_files(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_often, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        for path in recording_files(tmp_path):
            assert len(set(read_recording(path).extraction().output["rows"])) == 1
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY.digest[:24]}.json"]


def case_like(tmp_path, schema):
    document = SimpleNamespace(
        path=None, file=None, media_type="text/plain", sha256="a" * 64, bytes=b"x\ny", given_text=None
    )
    prompt = SimpleNamespace(path=tmp_path / "p.md", text="Read.")
    return SimpleNamespace(
        id="acme",
        path=tmp_path / "acme.extract.yaml",
        document=document,
        schema=schema,
        schema_path=tmp_path / "s.json",
        prompt=prompt,
        question=None,
    )


def test_the_key_of_a_case(tmp_path):
    plain = case_like(tmp_path, {"type": "string"})
    annotated = case_like(tmp_path, {"type": "string", "x-eval-compare": "exact"})
    extractor = LitellmExtractor(model="openai/x")

    def key(case, used):
        return key_of(case, extractor=used, nodeid="n", root=tmp_path, model="openai/x")

    assert key(plain, extractor).case == "acme.extract.yaml::acme"
    assert key(plain, extractor).document.name == "text in acme.extract.yaml"
    assert key(plain, extractor).prompt.name == "p.md"
    assert key(plain, extractor).params["extractor"] == "litellm"
    assert key(plain, extractor).digest == key(annotated, extractor).digest
    assert key(plain, len).digest != key(annotated, len).digest


class Waited:
    """An extractor's boundary whose call does not end before somebody waits for what it records."""

    def __init__(self, waited, ends):
        self.entered, self._waited, self._ends = threading.Event(), waited, ends

    def __call__(self):
        self.entered.set()
        self._waited.wait()
        return self._ends()


def at_once(folder, slow, key, other):
    """Obtain one output in two processes, the second while the first is at it."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(Recordings(folder, "once").obtain, KEY, slow)
        slow.entered.wait()
        second = Recordings(folder, "once").obtain(key, other)
    return first, second


@pytest.mark.parametrize("case", [KEY.case, "b.extract.yaml::same-inputs"], ids=["one case", "two cases"])
def test_of_all_that_want_one_output_at_once_one_calls(tmp_path, waited, case):
    other = Calls()
    first, second = at_once(tmp_path, Waited(waited, Calls()), changed(case=case), other)
    assert first.result() == OUTPUT
    assert second == dataclasses.replace(OUTPUT, recorded=True)
    assert other.count == 0


def fails():
    raise ConnectionError("no route")


def test_who_waited_for_a_call_that_failed_calls(tmp_path, waited):
    other = Calls()
    first, second = at_once(tmp_path, Waited(waited, fails), KEY, other)
    assert isinstance(first.exception(), ConnectionError)
    assert second == OUTPUT
    assert other.count == 1


def test_what_another_has_recorded_since_for_another_case_is_found(tmp_path):
    one, two = Recordings(tmp_path, "once"), Recordings(tmp_path, "once")
    assert two.lookup(KEY) is None  # looked through the folder, which is empty
    one.obtain(KEY, Calls())
    later = Calls()
    assert two.obtain(changed(case="b.extract.yaml::same-inputs"), later).recorded
    assert later.count == 0


def test_what_was_removed_since_is_not_found(tmp_path):
    recordings = Recordings(tmp_path, "once")
    recordings.obtain(KEY, Calls())
    for path in recording_files(tmp_path):
        path.unlink()
    assert recordings.lookup(changed(case="b.extract.yaml::same-inputs")) is None


def test_an_output_that_cannot_be_recorded_is_none_the_less_an_output(tmp_path):
    folder = tmp_path / "file"
    folder.write_text("")
    told = []
    got = Recordings(folder, "once", on_write_error=told.append).obtain(KEY, Calls())
    assert dataclasses.replace(got, notes=()) == OUTPUT
    assert [str(error) for error in told] == [note.removeprefix("not recorded: ") for note in got.notes]
    assert told[0].path.parents[1] == folder


def test_the_manual_shows_the_message_of_a_missing_recording(tmp_path):
    key = RecordingKey(
        case="acme.extract.yaml::acme",
        document=text_part("acme.txt", "Total: 7"),
        schema=json_part("invoice.schema.json", {"type": "object"}),
        prompt=text_part("prompts/invoice.md", "Read the invoice."),
    )
    Recordings(tmp_path, "once").obtain(key, Calls())
    changed_key = dataclasses.replace(key, prompt=text_part("prompts/invoice.md", "Read the bill."))
    message = Recordings(tmp_path, "none").explain(changed_key)
    page = (resources.files("pytest_extract.docs") / "recordings.md").read_text(encoding="utf-8")
    assert message.replace("; renew", "\nrenew") in page
