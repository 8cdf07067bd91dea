"""Secrets of every known form are found; the data of documents is left as it is."""

from __future__ import annotations

import base64
import json
import os
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract import redact as module
from pytest_extract.redact import (
    FORMATS,
    NOTHING_KNOWN,
    Secrets,
    find_secrets_of_process,
    held_by,
    looks_random,
    withheld,
)
from tests.redact.corpus import FORMS, IN_MESSAGES, LEGAL, SECRETS, made
from tests.strategies import json_values

KEY = SECRETS["openai, project"]
ENVIRONMENT = {
    "COHERE_API_KEY": made("{a40}"),
    "DATABASE_URL": f"postgres://admin:{made('{a20}', 1)}@db.example/x",
    "QUOTED_SECRET": f'"{made("{a20}", 2)}\\ü',
    "STORE_CONNECTION_STRING": f"Server=tcp:x;User=a;Password={made('{a20}', 3)};Encrypt=yes",
    "SESSION_COOKIE": made("{a40}", 4),
    "ROLE_SECRET_ID": made("{U}", 5),
    "SHORT_PASSWORD": "hunter2x",
    "CACHE_KEY": "invoices",
    "SORT_KEY": "quarterly-invoices-2024",
    "PARTITION_KEY": "12345678901234567890",
    "PUBLIC_KEY_FILE": "/etc/hosts",
    "SSH_KEY": "/etc/hosts",
    "API_KEY_URL": "https://keys.example.org/v1/a1b2c3d4e5f6",
    "DATA_KEY": "arn:aws:kms:eu-west-1:111122223333:key/a1b2c3d4",
    "HOME": made("{a40}"),
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_providers_key_is_found_in_data_however_it_is_escaped(secret):
    inner = json.dumps({"a": f"x\n{secret}\t“{secret}”"})
    for text in (f"see {secret} here", inner, json.dumps(inner), json.dumps({"output": inner}, ensure_ascii=False)):
        found = NOTHING_KNOWN.find(text)
        hidden = NOTHING_KNOWN.hide(text, found)
        assert found
        assert all(part not in hidden for part in secret.split("\n")[1:-1] or [secret])
        value = {"inner": inner, "list": [text]}
        assert secret.split("\n")[-1] not in json.dumps(NOTHING_KNOWN.without(value).value)


def test_chance_hides_no_key():
    texts = [made(form, seed) for form in FORMS.values() for seed in range(1, 21)]
    assert [text for text in texts if not NOTHING_KNOWN.find(text)] == []


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_providers_key_is_hidden_in_messages(secret):
    for message in (f"401: no such key: {secret}", f"headers={{'x': '{secret}'}}", json.dumps({"error": secret})):
        cleaned = NOTHING_KNOWN.clean(message)
        assert secret.split("\n")[-1] not in cleaned.value
        assert cleaned.secrets
        assert NOTHING_KNOWN.clean(cleaned.value).value == cleaned.value


BESIDE_ELLIPSES = SECRETS | {
    "a variable": "/".join(made("{a12}", seed) for seed in range(4)),
    "cut off": f"{SECRETS['private key'][:31]}\nProc-Type: 4,ENCRYPTED\n\nMIIE…\\r\\n{made('{a60}')}",
}


@pytest.mark.parametrize("secret", BESIDE_ELLIPSES.values(), ids=BESIDE_ELLIPSES)
def test_no_part_of_a_secret_stays_beside_an_ellipsis(secret):
    known = NOTHING_KNOWN.with_environ({"AWS_SECRET_ACCESS_KEY": BESIDE_ELLIPSES["a variable"]})
    for frame in ("{}...", "...{}", "the {}\u2026"):
        shown = re.sub(r"\[redacted: .*?\]", "", known.clean(frame.format(secret)).value)
        assert not [part for part in re.findall(r"\w{8,}", secret) if part in shown]


def test_kinds_in_the_digests_of_recordings_keep_their_names():
    kinds = {NOTHING_KNOWN.find(SECRETS[name])[0].kind for name in SECRETS if name.startswith("azure")}
    assert kinds == {"Azure secret", "Azure DevOps token", "Azure key"}


@pytest.mark.parametrize(("frame", "secret"), IN_MESSAGES.values(), ids=IN_MESSAGES)
def test_what_a_name_or_scheme_gives_away_is_hidden_in_messages_only(frame, secret):
    text = frame.format(secret)
    assert secret not in NOTHING_KNOWN.clean(text).value
    assert NOTHING_KNOWN.find(text) == ()


@pytest.mark.parametrize("value", LEGAL, ids=str)
def test_data_holds_no_secret(value):
    for data in (value, json.dumps(value), {"rows": [value], "text": f"({json.dumps(value)})"}):
        assert withheld(data) is None


def test_the_values_of_variables_are_found_where_they_hold_chance():
    secrets = NOTHING_KNOWN.with_environ(ENVIRONMENT)
    strong = "COHERE_API_KEY DATABASE_URL QUOTED_SECRET ROLE_SECRET_ID SESSION_COOKIE STORE_CONNECTION_STRING"
    assert sorted(secrets.strong.values()) == strong.split()
    assert sorted(secrets.weak.values()) == ["PARTITION_KEY", "SHORT_PASSWORD", "SORT_KEY"]
    for value, name in secrets.strong.items():
        encoded = [base64.b64encode(f"{user}{value}:x".encode()).decode() for user in ("", "a:", "ab:")]
        for text in (value, json.dumps({"a": value}), json.dumps(json.dumps([value])), *encoded):
            (found,) = secrets.find(text)
            assert found.kind == name
            assert value not in secrets.hide(text, [found])
            assert "[redacted: " in secrets.clean(text).value
    assert secrets.find("invoices, quarterly-invoices-2024, hunter2x") == ()
    cleaned = secrets.clean("the server refused hunter2x for invoices").value
    assert cleaned == "the server refused [redacted: SHORT_PASSWORD] for invoices"


@pytest.mark.parametrize(
    "message",
    [
        "missing key total_amount_2024_usd_incl_vat",
        "fw_attention_mask of pypi-simple-index in dp.audit.log_records_total",
        "KeyError: 'invoice_line_items_0_description_text'",
        "AssertionError: test_TheNameOfATestThatIsLongerThanALineOf80Columns",
        "model gpt-4o-mini-2024-07-18: key is wrong; request req_011CQq7ZxW2Qm3rT5vB8nD4k",
        f"sha256-{made('{h64}')}",
    ],
)
def test_names_and_digests_stay_in_messages(message):
    assert NOTHING_KNOWN.clean(message).value == message


def test_an_allowed_fingerprint_is_no_secret():
    (found,) = NOTHING_KNOWN.find(KEY)
    allowed = Secrets(allowed=frozenset({found.fingerprint}))
    assert allowed.find(f"a {KEY}") == ()
    assert Secrets(allowed=frozenset({"0" * 16})).find(KEY) == (found,)


def test_what_the_users_files_hold_is_data():
    armored = SECRETS["private key"]
    read = []
    owned = held_by(lambda: read.append(1) or [json.dumps({"gold": armored}), f"page 1 {KEY}"])
    assert read == []
    assert withheld({"a": armored, "b": KEY}, owned) is None
    assert withheld(json.dumps({"a": armored}), owned) is None
    assert withheld({"a": SECRETS["aws"]}, owned) is not None
    assert read == [1]


WHERE = {
    "text": (f'{{\n "a": 1,\n "b": "{KEY}"}}', "line 3"),
    "value": ({"a": [{"b": f"x {KEY}"}]}, "a[0].b"),
    "key": ({"a": {KEY: 1}}, "one of its keys"),
}


@pytest.mark.parametrize(("output", "place"), WHERE.values(), ids=WHERE)
def test_a_refusal_says_what_where_and_how_to_allow_it(output, place):
    (found,) = NOTHING_KNOWN.find(KEY)
    assert withheld(output) == (
        f"the output holds a secret (API key) at {place}; "
        f"if it is no secret, add {found.fingerprint} to extract_allow_secrets"
    )


def test_the_environment_is_read_while_a_thread_changes_it(monkeypatch):
    """pytest sets and pops PYTEST_CURRENT_TEST for every phase of every item."""
    monkeypatch.setattr(module, "_current", None)
    for index in range(400):
        monkeypatch.setenv(f"SOME_VARIABLE_{index}", "a value that is long enough")
    done = threading.Event()

    def change():
        while not done.is_set():
            os.environ["PYTEST_CHANGING_TEST"] = "x@y" * 5
            os.environ.pop("PYTEST_CHANGING_TEST")

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(300):
            find_secrets_of_process()
    finally:
        done.set()
        changing.join()


def test_a_variable_that_is_gone_still_counts(monkeypatch):
    monkeypatch.setattr(module, "_current", None)
    monkeypatch.setenv("PLANTED_TOKEN", made("{a32}", 5))
    find_secrets_of_process()
    monkeypatch.delenv("PLANTED_TOKEN")
    assert find_secrets_of_process().find(made("{a32}", 5))[0].kind == "PLANTED_TOKEN"


@given(json_values)
def test_parameters_are_cleaned_once(value):
    once = NOTHING_KNOWN.clean_settings(value)
    assert NOTHING_KNOWN.clean_settings(once) == once


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "openai_api_key", "Authorization", "x.token"])
def test_a_parameter_with_a_secret_name_is_hidden(name):
    marked = {name: "[redacted: value of a secret's name]", "n": 12}
    assert NOTHING_KNOWN.clean_settings({name: "hunter2", "n": 12}) == marked


@given(st.text(max_size=200))
def test_any_text_is_survived(text):
    assert isinstance(Secrets(strong={"needle": "X"}).clean(text).value, str)
    assert isinstance(NOTHING_KNOWN.find(text), tuple)


UNITS = [
    "a_", "a.", "://", "password=", 'token: "', "Bearer ", "sk-", "authorization ", "?key=", "-u a:", "eyJ", "eyJa.eyJ",
    "ATATT3", "Q~", "hooks.slack.com/", "1/", "M" * 25 + ".", "AKIA", "-----BEGIN PRIVATE KEY-----", "\\", "A" * 60 + "APIM",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_long_hostile_text_comes_back(unit):
    text = unit * (200_000 // len(unit))
    assert NOTHING_KNOWN.clean(text).value
    NOTHING_KNOWN.find(text)


def test_the_quick_search_misses_nothing():
    texts = [*SECRETS.values(), *(frame.format(secret) for frame, secret in IN_MESSAGES.values())]
    for each in FORMATS:
        matches = [match[0] for text in texts if (match := each.pattern.search(text))]
        assert matches, each.kind
        assert all(any(hint in match for hint in each.hints) for match in matches), each.kind


RANDOM = {"hex": "{h32}", "letters and digits": "{a24}", "base 32": "{u32}", "UUID": "{U}", "base64": "{b40}"}


@pytest.mark.parametrize("form", RANDOM.values(), ids=RANDOM)
def test_random_characters_look_random(form):
    assert sum(looks_random(made(form, seed)) for seed in range(500)) >= 495
