"""Planted secrets never survive; ordinary extraction data always does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.redact import redact, redact_text, secret_values
from tests.strategies import json_values

PLANTED = {
    "openai": "sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12",
    "anthropic": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "github": "ghp_1234567890abcdefghijABCDEFGHIJ123456",
    "gitlab": "glpat-abcdefghijklmnop1234",
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "hugging face": "hf_abcdefghijklmnopqrstuvwxyz0123",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
    "private key, cut off": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7",
}
IN_CONTEXT = {
    "bearer": ("Authorization: Bearer abcdef1234567890", "abcdef1234567890"),
    "basic": ("authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    "url": ("postgres://admin:hunter2@db.example/x", "hunter2"),
    "json text": ('{"password": "correct horse"}', "correct horse"),
    "json text, quote inside": ('{"password": "cor\\"rect horse"}', "rect horse"),
    "json in json": ('{"raw": "{\\"api_key\\": \\"hunter2hunter2\\"}"}', "hunter2hunter2"),
    "number": ('{"password": 87654321}', "87654321"),
    "env line": ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    "header dict": ("{'x-api-key': 'abcd1234efgh'}", "abcd1234efgh"),
    "yaml": ("client_secret: verySecret1", "verySecret1"),
    "cookie": ("Set-Cookie: session=abcdef123456", "abcdef123456"),
}
HARMLESS = [
    "Invoice 2024-001, total 1,234.56 EUR, IBAN DE89 3704 0044 0532 0130 00",
    '{"total_tokens": 12345678, "prompt_tokens": 11}',
    "The secret of good coffee is fresh beans.",
    "Basic understanding of the Token economy: bearer instruments.",
    "https://example.org:8080/path?id=12345",
    "mailto:someone@example.org",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "a_b_c_task-force-of-the-ministry-2024",
]


@pytest.mark.parametrize("secret", PLANTED.values(), ids=PLANTED)
def test_a_planted_secret_is_taken_out_of_text_and_of_structures(secret):
    assert secret not in redact_text(f"see {secret} here", ())
    found = redact({"a": [{secret: secret}], "b": 1}, ())
    assert secret not in json.dumps(found.value)
    assert found.kinds
    assert found.value["b"] == 1


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT.values(), ids=IN_CONTEXT)
def test_what_a_name_or_scheme_gives_away_is_taken_out(text, secret):
    clean = redact_text(text, ())
    assert secret not in clean
    assert "[redacted: " in clean


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays(text):
    found = redact({"note": text}, ())
    assert found.value == {"note": text}
    assert found.kinds == ()


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "openai_api_key", "Authorization", "x.token"])
def test_the_value_under_a_secret_name_is_taken_out(name):
    assert redact({name: "hunter2"}, ()).value == {name: "[redacted: value of a secret's name]"}


def test_numbers_and_nulls_under_a_secret_name_stay():
    assert redact({"token": 12, "password": None}, ()).value == {"token": 12, "password": None}


def test_values_of_secret_variables_are_taken_out_also_when_escaped():
    environ = {
        "MY_API_KEY": 'qu"ote-d-secret',
        "HOME": "/home/somebody",
        "KEY_FILE": "/etc/some/key",
        "X_TOKEN": "short",
    }
    secrets = secret_values(environ)
    assert secrets == ('qu"ote-d-secret',)
    assert "ote-d-secret" not in redact_text(json.dumps({"a": 'qu"ote-d-secret'}), secrets)
    assert redact_text("/home/somebody", secrets) == "/home/somebody"


def test_secrets_of_this_process_are_the_default(monkeypatch):
    monkeypatch.setenv("PLANTED_TOKEN", "pl4nted-in-the-environment")
    assert redact("x pl4nted-in-the-environment y").value == "x [redacted: value of an environment variable] y"


@given(json_values)
def test_redacting_twice_changes_nothing_more(value):
    once = redact(value, ()).value
    assert redact(once, ()).value == once


@given(st.text(max_size=200))
def test_any_text_is_survived(text):
    assert isinstance(redact_text(text, ("needle",)), str)


@pytest.mark.parametrize("unit", ["a_", "a.", "://", "password=", 'token: "', "Bearer ", "-----BEGIN PRIVATE KEY-----"])
def test_long_hostile_text_comes_back(unit):
    assert redact_text(unit * 20_000, ())


def test_the_quick_search_misses_nothing():
    from pytest_extract import redact as module

    assert all(module._HINT.search(name.replace("?", "")) for name in ("api_key", "client-secret", "pwd", "set-cookie"))
    planted = ["AKIA" + "A1B2C3D4E5F6G7H8", "hf_" + "a1" * 12, "xoxb-" + "12345678901", "https://u:pa55word@h/x"]
    assert all(redact(text).kinds for text in planted)
