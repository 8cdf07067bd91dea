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

KEY = RecordingKey(
    case="invoices/acme.extract.yaml::acme",
    nodeid="invoices/acme.extract.yaml::acme[openai/x]",
    document=KeyPart(name="acme.pdf", sha256="d" * 64),
    schema=json_part("invoice.schema.json", {"type": "object"}),
    prompt=text_part("prompts/invoice.md", "Take the total."),
    question="What?",
    model="openai/x",
    params={"mode": "prompt"},
)
OUTPUT = Extraction('{"a": 1}\n', usage=Usage(prompt_tokens=3), latency_s=1.5, cost_usd=0.25, finish_reason="stop")
REPLAYED = dataclasses.replace(OUTPUT, recorded=True)


def changed(**parts):
    return dataclasses.replace(KEY, **parts)


STALE = changed(prompt=text_part("prompts/invoice.md", "Take the sum."))
OTHER_CASE = changed(case="b.extract.yaml::same-inputs")


def record(folder, output=OUTPUT, *, key=KEY, mode="once"):
    """Obtain an output from the recordings, or from an extractor that returns this one."""
    return Recordings(folder, mode).obtain(key, lambda: output)


def never():
    pytest.fail("the extractor is called")


def replay(folder, key=KEY):
    return Recordings(folder, "none").obtain(key, never)


def only_file(folder):
    (path,) = recording_files(folder)
    return path


@pytest.mark.parametrize(
    ("mode", "called", "files"),
    [("off", [True] * 3, 0), ("once", [True, False, True], 2), ("new", [True, False, True], 1), ("all", [True] * 3, 2)],
)
def test_a_mode_says_when_to_call_and_what_to_keep(tmp_path, mode, called, files):
    outputs = [record(tmp_path, dataclasses.replace(OUTPUT), key=key, mode=mode) for key in (KEY, KEY, STALE)]
    assert [not output.recorded for output in outputs] == called
    assert len([*recording_files(tmp_path)]) == files
    if files:
        assert replay(tmp_path, STALE) == REPLAYED  # with the recorded numbers


def test_all_overwrites(tmp_path):
    record(tmp_path, mode="all")
    record(tmp_path, Extraction("new"), mode="all")
    assert replay(tmp_path).output == "new"


def test_new_keeps_other_slots(tmp_path):
    others = [
        changed(model="openai/y"),
        changed(repeat=1),
        changed(revision="main", document=KeyPart(name="acme.pdf", sha256="f" * 64)),
        changed(prompt=text_part("prompts/other.md", "Read.")),
        changed(case="invoices/acme.extract.yaml::other", question="Other?"),
        changed(mode="structured", params={"mode": "structured"}),  # of a run that compares both modes
    ]
    for key in (*others, KEY, STALE):
        assert not record(tmp_path, key=key, mode="new").recorded
    for key in (*others, STALE, changed(prompt=STALE.prompt, mode="prompt")):
        assert replay(tmp_path, key).recorded
    with pytest.raises(NotRecorded):
        replay(tmp_path)


PROMPT = r"recorded for prompt prompts/invoice\.md \(\w{8}\), now "
MODE = 'recorded for parameter mode "prompt", now "structured"; recorded for parameter top_p none, now 1'
WHY = {
    "prompt": (STALE, rf"{PROMPT}prompts/invoice\.md \(\w{{8}}\)"),
    "other prompt": (changed(prompt=text_part("b.md", "x")), rf"{PROMPT}b\.md \(\w{{8}}\)"),
    "no prompt": (changed(prompt=None), f"{PROMPT}none"),
    "document": (changed(document=KeyPart("b.pdf", "e" * 64)), r"document acme\.pdf \(dddddddd\), now b\.pdf \(e{8}\)"),
    "moved document": (
        changed(document=KeyPart("moved.pdf", "d" * 64), repeat=2),
        r"/x\]: recorded for repeat 1, now 3",
    ),
    "schema": (changed(schema=json_part("other.json", {})), r"for schema invoice\.schema\.json .*, now other\.json .*"),
    "question": (changed(question=None), r"recorded for question \w{8}, now none"),
    "model": (changed(model="openai/y"), "recorded for model openai/x, now openai/y"),
    "parameters": (changed(params={"mode": "structured", "top_p": 1}), MODE),
    "mode": (changed(mode="structured"), "recorded for mode none, now structured"),
    "confirmation": (changed(confirmation=True), "recorded for confirmation none, now yes"),
    "given text": (changed(given_text="x"), r"recorded for text from pytest_extract_document none, now \w{8}"),
    "nothing": (changed(case="c.extract.yaml::x", question=""), r"nothing is recorded for this case in .* a secret .*"),
}


@pytest.mark.parametrize(("key", "why"), WHY.values(), ids=WHY)
def test_replay_only_says_why_it_is_stale_and_how_to_renew(tmp_path, key, why):
    record(tmp_path)
    with pytest.raises(NotRecorded, match=f"{why}; renew") as caught:
        replay(tmp_path, key)
    assert f'pytest "{key.nodeid}" --extract-model={key.model} --extract-record=new' in str(caught.value)


def test_the_nearest_recording_explains(tmp_path):
    record(tmp_path, key=changed(model="openai/y", prompt=None))
    record(tmp_path, key=changed(question="Who?"))
    assert "acme[openai/x]: recorded for question " in Recordings(tmp_path, "once").explain(KEY)


def test_the_manual_shows_the_message_of_a_missing_recording(tmp_path):
    key = RecordingKey(
        case="acme.extract.yaml::acme",
        document=text_part("acme.txt", "Total: 7"),
        schema=json_part("invoice.schema.json", {"type": "object"}),
        prompt=text_part("prompts/invoice.md", "Read the invoice."),
    )
    record(tmp_path, key=key)
    asked = dataclasses.replace(key, prompt=text_part("prompts/invoice.md", "Read the bill."))
    page = (resources.files("pytest_extract.docs") / "recordings.md").read_text(encoding="utf-8")
    assert Recordings(tmp_path, "none").explain(asked).replace("; renew", "\nrenew") in page


@pytest.mark.parametrize("name", ["請求書の合計金額を確認する" * 8, "a" * 300, "é" * 200])
def test_a_case_may_have_a_name_of_any_length_and_may_be_renamed(tmp_path, name):
    assert record(tmp_path, key=changed(case=f"{name}.extract.yaml::{name}")).notes == ()
    assert replay(tmp_path, changed(case="moved/acme.extract.yaml::acme")).recorded


def test_the_key_of_a_case(tmp_path):
    def key(used, **annotation):
        text = {"path": None, "file": None, "media_type": "text/plain", "bytes": b"x\ny", "given_text": None}
        case = SimpleNamespace(
            id="acme",
            path=tmp_path / "acme.extract.yaml",
            document=SimpleNamespace(**text, sha256="a" * 64),
            schema={"type": "string", **annotation},
            schema_path=tmp_path / "s.json",
            prompt=SimpleNamespace(path=tmp_path / "p.md", text="Read."),
            question=None,
        )
        return key_of(case, extractor=used, nodeid="n", root=tmp_path, model="openai/x")

    extractor = LitellmExtractor(model="openai/x")
    made_key = key(extractor)
    assert made_key.case == "acme.extract.yaml::acme"
    assert (made_key.document.name, made_key.prompt.name) == ("text in acme.extract.yaml", "p.md")
    assert made_key.params["extractor"] == "litellm"
    annotation = {"x-eval-compare": "exact"}  # which the built-in extractor hides from its model
    assert key(extractor, **annotation).digest == made_key.digest
    assert key(len, **annotation).digest != key(len).digest


# --- files


def test_a_file_holds_the_output_by_lines_in_a_folder_of_its_case(tmp_path):
    record(tmp_path)
    body = read_recording(only_file(tmp_path)).body
    assert (body["notes"], body["output"]) == ([], {"text": ['{"a": 1}', ""]})
    assert only_file(tmp_path).parent.name == "invoices-acme-acme"


DAMAGED = {
    "format": ({"format": 99}, "recording of format 99"),
    "output": ({"output": {}}, "KeyError"),
    "cut": ("{", "delete it, or record it again"),
    "list": ("[]", "delete it, or record it again"),
    "empty": ("{}", "delete it, or record it again"),
    "conflict": ("<<<<<<< HEAD", "delete it, or record it again"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_told_and_breaks_no_case_but_its_own(tmp_path, damage, message):
    record(tmp_path, key=STALE)
    stale = only_file(tmp_path)
    body = json.loads(stale.read_text())
    text = damage if isinstance(damage, str) else json.dumps(body | damage)
    stale.with_name("bad.json").write_text(text)
    with pytest.raises(NotRecorded, match="recorded for prompt prompts/invoice"):
        replay(tmp_path)
    assert record(tmp_path, mode="new") == OUTPUT
    assert not stale.exists()
    stale.write_text(text)
    for mode in ("none", "once", "new"):
        with pytest.raises(StoreError, match=message):
            Recordings(tmp_path, mode).obtain(STALE, never)


def test_a_recording_of_an_earlier_version_is_read_with_its_note(tmp_path):
    record(tmp_path, Extraction("[redacted: API key]"))
    body = json.loads(only_file(tmp_path).read_text())
    for added_since in ("build", "citations", "confidence", "estimated_usd", "extractor", "other_code"):
        body.pop(added_since, None)
    note = "the recording has 1 secret(s) taken out"
    only_file(tmp_path).write_text(json.dumps(body | {"redacted": True, "notes": [note]}))
    got = replay(tmp_path)
    assert (got.output, got.notes, got.recorded) == ("[redacted: API key]", (note,), True)


OUTPUTS = {
    "text": "line 1\nline 2\r\n",
    "empty": "",
    "object": {"b": 1, "": {}, "a": [None, True, 1.5, [], -0.0, "é"]},
    "big number": {"n": 10**400},
    "lone surrogate": {"s": "\ud800 ä"},
    "text with one": "\udc00",
    "infinite": {"n": math.inf},
    "null": None,
}


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_outputs_survive_the_file(tmp_path, output):
    record(tmp_path, Extraction(output))
    got = replay(tmp_path)
    assert (got.output, got.notes) == (output, ())
    assert json.dumps(got.output) == json.dumps(output)  # in the same order of keys


# --- secrets

SECRET = SECRETS["openai, project"]


@pytest.mark.parametrize("output", [json.dumps({"a": SECRET}), {"a": [{"password": "x", "b": SECRET}]}], ids=type)
def test_an_output_with_a_secret_is_not_recorded_and_says_so(tmp_path, output):
    refused = []
    recordings = Recordings(tmp_path, "once", on_refused=refused.append)
    live = recordings.obtain(KEY, lambda: Extraction(output))
    assert (live.output, live.notes) == (output, (f"not recorded: {withheld(output)}",))
    assert refused == [f"{KEY.nodeid}: {withheld(output)}"]
    assert list(recording_files(tmp_path)) == []
    recordings.obtain(KEY, lambda: Extraction(output), lambda secret: secret.text == SECRET)  # the user's own data
    assert replay(tmp_path).output == output


def test_what_is_recorded_beside_an_output_holds_no_secret(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "_current", None)
    planted = made("{a32}")
    monkeypatch.setenv("SOME_API_KEY", planted)
    key = changed(params={"extra_headers": {"Authorization": f"Bearer {SECRET}", "x": planted}})
    failure = Failure(kind=FailureKind.REFUSAL, line=3, message=f"Authorization: Bearer {SECRET}, X: {planted}")
    record(tmp_path, Extraction(None, failure=failure, notes=("read twice", f"with {SECRET}")), key=key)
    text = only_file(tmp_path).read_text()
    assert SECRET not in text
    assert planted not in text
    got = replay(tmp_path, key)
    assert got.failure.message.endswith("X: [redacted: SOME_API_KEY]")
    assert (got.output, got.failure.kind, got.failure.line) == (None, FailureKind.REFUSAL, 3)
    assert got.notes == ("read twice", "with [redacted: API key]")


def test_the_data_of_a_document_is_recorded_as_it_is(tmp_path):
    for number, output in enumerate((*LEGAL, {"rows": LEGAL}, json.dumps(LEGAL))):
        key = changed(question=str(number))
        assert record(tmp_path, Extraction(output), key=key).notes == ()
        assert replay(tmp_path, key).output == output


def test_the_address_holds_no_credential():
    def digest(**params):
        return changed(params=params).digest

    assert digest(api_key="one-secret") == digest(api_key="other-secret") != digest(api_base="x")
    url = "https://x/?{}".format
    first, second = (digest(url=url(made("sk-proj-{w74}T3BlbkFJ{w74}", seed))) for seed in range(2))
    assert first == second


LOOK_LIKE_SECRETS = [
    ({"stop_token": "<END1>"}, {"stop_token": "<END2>"}),
    ({"system": "Mark rows with token=INVOICE_A1"}, {"system": "Mark rows with token=INVOICE_B2"}),
    ({"system": 'If unsure, write "api_key": "UNKNOWN"'}, {"system": 'If unsure, write "api_key": "NOT_THERE"'}),
    ({"example": {"token": "USDC-ETH"}}, {"example": {"token": "BTC-ETH"}}),
]


@pytest.mark.parametrize(("old", "new"), LOOK_LIKE_SECRETS)
def test_a_parameter_that_only_looks_like_a_secret_makes_recordings_stale_and_is_not_written(tmp_path, old, new):
    record(tmp_path, key=changed(params=old))
    assert "[redacted" in only_file(tmp_path).read_text()
    shown = read_recording(only_file(tmp_path)).body["inputs"]["params"]
    assert shown == secrets.NOTHING_KNOWN.clean_settings(old)
    with pytest.raises(NotRecorded, match="a parameter changed that recordings do not show"):
        replay(tmp_path, changed(params=new))
    assert not record(tmp_path, key=changed(params=new), mode="new").recorded


# --- many at once


def write_often(folder):
    for number in range(20):
        assert record(Path(folder), Extraction({"rows": [number] * 2000}), mode="all").notes == ()


def test_many_writers_leave_whole_files(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_often, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        for path in recording_files(tmp_path):
            assert len(set(read_recording(path).extraction().output["rows"])) == 1
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY.digest[:24]}.json"]


@pytest.mark.parametrize("key", [KEY, OTHER_CASE], ids=["one case", "two cases"])
@pytest.mark.parametrize("works", [True, False], ids=["answers", "fails"])
def test_of_all_that_want_one_output_at_once_one_calls_and_the_next_where_that_failed(tmp_path, waited, key, works):
    entered = threading.Event()

    def slow():
        entered.set()
        waited.wait()  # for somebody who waits for what this call records
        if not works:
            raise ConnectionError("no route")
        return OUTPUT

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(Recordings(tmp_path, "once").obtain, KEY, slow)
        entered.wait()
        second = record(tmp_path, Extraction("second"), key=key)
    if works:
        assert (first.result(), second) == (OUTPUT, REPLAYED)
    else:
        assert isinstance(first.exception(), ConnectionError)
        assert second == Extraction("second")


def test_what_another_has_recorded_or_removed_since_is_seen(tmp_path):
    early = Recordings(tmp_path, "once")
    assert early.lookup(KEY) is None  # looked through the folder, which is empty
    record(tmp_path)
    assert early.obtain(OTHER_CASE, never).recorded
    only_file(tmp_path).unlink()
    assert early.lookup(OTHER_CASE) is None
