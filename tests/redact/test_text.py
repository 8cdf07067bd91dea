"""Planted secrets never survive; ordinary extraction data always does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_extract.redact.patterns import CONTEXT, HINTS, TOKENS
from pytest_extract.redact.text import redact, redact_text, secret_values
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
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----",
    "openrouter": "sk-or-v1-0123456789abcdef0123456789abcdef",
    "google oauth": "ya29.a0AfH6SMBx1234567890abcdefghijklmnop",
    "google client": "GOCSPX-abcdefghijklmnopqrstuvwxyz12",
    "slack app": "xapp-1-A012345-1234567890-abcdefabcdef",
    "github, fine": "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz0123456789",
    "stripe": "rk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "stripe hook": "whsec_abcdefghijklmnopqrstuvwxyz123456",
    "twilio": "SK0123456789abcdef0123456789abcdef",
    "sendgrid": "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",
    "databricks": "dapi0123456789abcdef0123456789abcdef",
    "telegram": "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawX",
    "vault": "hvs.CAESIAbcdefghijklmnopqrstuvwxyz0123",
    "atlassian": "ATATT3xFfGF0abcdefghijklmnopqrstuvwxyz",
    "shopify": "shpat_0123456789abcdef0123456789abcdef",
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
    "cookie of a request": ("Cookie: session=abcdef1234567890; other=1", "abcdef1234567890"),
    "basic, in prose": ("sent Basic dXNlcjpwYXNz to it", "dXNlcjpwYXNz"),
    "digest": ('Authorization: Digest username="x", response="6629fae49393a0539745"', "6629fae49393a0539745"),
    "other scheme": ("Authorization: ApiKey abcdefgh12345678", "abcdefgh12345678"),
    "header bytes": ("(b'authorization', b'Bearer abcdef123456')", "abcdef123456"),
    "url, password with a slash": ("postgres://bob:p@ss/word1@db:5432/x", "word1"),
    "url, token alone": ("https://tok3nAbCdEf123456789@github.com/o/r.git", "tok3nAbCdEf123456789"),
    "url, no user": ("redis://:hunter2hunter@redis:6379/0", "hunter2hunter"),
    "query": ("https://x.example/v1?key=Ab8RN6abcdefghijklmnop1234567", "Ab8RN6abcdefghijklmnop1234567"),
    "query, named": ("https://x.example/y?api_key=abcdef123456&z=1", "abcdef123456"),
    "signed url": ("https://b.example/f?sv=2020&sig=abcDEF123%2Bxyz%2F4567890", "abcDEF123"),
    "aws signature": ("X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0", "fe5f80f77d5fa3beca038a248ff027d0"),
    "azure account": ("AccountName=acc;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSQ==;X=y", "Eby8vdM02xNOcq"),
    "azure bus": ("SharedAccessKey=abcdefghijklmnop1234567890ABCDEFGHIJ=", "abcdefghijklmnop1234567890"),
    "odbc": ("Server=db;Uid=sa;Pwd=Hunter2Hunter;", "Hunter2Hunter"),
    "german": ("Passwort: geheim1234", "geheim1234"),
    "sentence": ("my password is hunter2hunter", "hunter2hunter"),
    "curl": ("curl -u admin:hunter22 https://x.example", "hunter22"),
    "slack hook": (
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "XXXXXXXXXXXXXXXXXXXXXXXX",
    ),
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
    "550e8400-e29b-41d4-a716-446655440000",
    "GB29NWBK60161331926819",
    "RE-2026-000012345678901234567890, PK-1234567890-ABCDEFGH-XY",
    "4111 1111 1111 1111",
    "sk-rail-mount-bracket-2040-profile",
    "npm-package-lock-version-checker-2 and xai-explainability-report-2024-final",
    "Basic 2345678901234",
    "Basic subscription-2024-plan",
    "Authorization: granted by the board 2024-05-01",
    "Authorization number: 1234567890",
    "Cookie: chocolate chip, 250 g",
    "Account key: primary",
    "Password reset instructions were sent",
    "https://example.org:8080/path?mail=someone@example.org",
    "https://example.org/x?key=overview&code=DE",
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


@pytest.mark.parametrize(
    "unit",
    [
        "a_",
        "a.",
        "://",
        "password=",
        'token: "',
        "Bearer ",
        "sk-",
        "authorization ",
        "?key=",
        "-u a:",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_long_hostile_text_comes_back(unit):
    assert redact_text(unit * 20_000, ())


def test_the_quick_search_misses_nothing():
    texts = [*PLANTED.values(), *(text for text, _ in IN_CONTEXT.values())]
    for form in (*TOKENS, *CONTEXT):
        assert all(form.may_be_in(text.lower()) for text in texts if form.pattern.search(text)), form.kind
        assert {*form.hints} <= {*HINTS}
        assert form.hints == tuple(hint.lower() for hint in form.hints)


def test_the_cookies_of_a_request_go_and_those_of_a_baker_stay():
    assert redact({"Cookie": "session=abc123"}, ()).kinds
    assert not redact({"cookie": "chocolate chip"}, ()).kinds
