"""Patterns of keys, tokens and passwords in messages: loose forms, and values beside certain words.

None of this is looked for in a document's data, where `{"token": "USDC-ETH"}` is a value like any other (`secrets`).

Each row brings hints: in every text that its pattern matches, in whatever case, one of them occurs. Looking for them is
many times faster than the patterns. Repetitions are counted, so that a hostile text stays linear.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import Final, NamedTuple

from pytest_extract.lazy import lazy_pattern


class MessagePattern(NamedTuple):
    """One form of a secret; `hints` are in lower case. Where a pattern has the group `before`, that stays."""

    kind: str
    hints: tuple[str, ...]
    source: str
    flags: re.RegexFlag

    @property
    def pattern(self) -> re.Pattern[str]:
        """The form as a pattern, compiled when its hint first turns up."""
        return _compiled_with_flags(self.source, self.flags)

    def may_be_in(self, lowered: str) -> bool:
        """Whether a text, given in lower case, has one of the hints."""
        return any(hint in lowered for hint in self.hints)


@cache
def _compiled_with_flags(source: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(source, flags)


def _message_pattern(kind: str, hints: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> MessagePattern:
    return MessagePattern(kind, tuple(hints.split()), pattern, flags | re.DOTALL)


_RANDOM: Final = r"(?:(?=[\w\-]{0,200}[A-Za-z0-9]{16})[\w\-]{16,400}|[\w\-]{40,400})"
"""What follows a prefix that ordinary names have too: long without a hyphen, or very long."""
_SCHEMES: Final = r"(?:[Bb]earer|BEARER|[Tt]oken|SSWS)"
_NEW: Final = r"(?!\[redacted)"

TOKENS: Final = (
    _message_pattern(
        "private key",
        "private",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
    _message_pattern(
        "API key",
        "sk- sk_ pk- pk_ rk- rk_ hf_ hf- gsk_ gsk- r8_ r8- npm_ npm- dop_v1 tvly pplx xai_ xai- nvapi",
        rf"\b(?:[spr]k|hf|gsk|r8|npm|dop_v1|tvly|pplx|xai|nvapi)[_-]{_RANDOM}",
    ),
    _message_pattern("API key", "sk dapi shp", r"\b(?:SK|dapi|shp(?:at|ca|pa|ss)_)[0-9a-f]{32}\b"),
    _message_pattern("AWS key", "akia asia abia acca", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _message_pattern(
        "access token",
        "sg. whsec_ lin_api_ fw_ atatt3 aiza aq.ab ya29. gocspx ghp_ gho_ ghu_ ghs_ ghr_ github_pat glpat- gldt- glrt- "
        "glptt- glcbt- xox xapp pypi- hvs. hvb. hvr. dp. age-secret",
        r"\b(?:(?:whsec_|lin_api_|fw_)[A-Za-z0-9+/]{20,}|pypi-[\w\-]{30,}|xox[abeoprs]-[A-Za-z0-9\-]{10,}"
        r"|(?:SG\.|ATATT3|AIza|AQ\.Ab|ya29\.|GOCSPX-|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|cbt)-"
        r"|xapp-|hv[sbr]\.|dp\.(?:st|pt|ct|sa|scim|audit)\.|AGE-SECRET-KEY-1)[\w\-.+/=]{20,})",
    ),
    _message_pattern(
        "web hook",
        "hooks",
        r"(?P<before>hooks\.slack\.com/services/|/api/webhooks/)(?P<secret>[A-Za-z0-9]{5,30}/[\w\-/]{16,})",
    ),
    _message_pattern("bot token", ":aa", r"\b\d{8,10}:AA[\w\-]{30,}"),  # Telegram
    _message_pattern(
        "API key", "sdk- api- mob- pk-lf-", r"\b(?:sdk|api|mob|pk-lf)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    ),  # LaunchDarkly, Langfuse
    _message_pattern("JSON web token", "eyj", r"\beyJ[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]*"),
)
"""Known by themselves; looser than `formats`, as a message may show a key in part."""

_CREDENTIALS: Final = (
    r"(?:api[_\-\s]?key|apikey|x-api-key|secret(?:[_\-]?(?:access[_\-]?)?key)?|client[_\-]?secret|private[_\-]?key"
    r"|(?:access|auth|refresh|session|security|bearer|id|api)[_\-]?token|passphrase|pwd"
    r"|pass(?:word|wd|wort)|kennwort|mot de passe|contrase[nñ]a|wachtwoord|senha"
    r"|set-cookie)"
)
NAMES: Final = rf"(?:{_CREDENTIALS}|token)"
"""Names whose value is a secret."""
_OF_MEMBERS: Final = r"(?:proxy-)?authorization|(?:account|subscription|shared[_\-]?access)[_\-]?key|x-goog-api-key"
"""More of them, where a member of an object says it: nothing in a text is called so by chance."""

CONTEXT: Final = (
    _message_pattern(
        "password in a URL",
        "://",
        rf"(?P<before>\b[a-z][a-z0-9+.\-]{{0,20}}://[^\s/:@\"']{{0,200}}:)"
        rf"{_NEW}(?!\d{{1,5}}(?:[/?#]|$))(?P<secret>[^\s\"'<>]{{1,300}})(?=@)",
        re.IGNORECASE,
    ),
    _message_pattern(
        "token in a URL",
        "://",
        rf"(?P<before>\bhttps?://){_NEW}(?P<secret>(?=[\w\-]*\d)[\w\-]{{16,200}})(?=@)",
        re.IGNORECASE,
    ),
    _message_pattern(
        "signature of a URL",
        "sig= key= code= auth= hmac= signature= credential= token=",
        rf"(?P<before>(?:[?&](?:sig|key|code|auth|hmac|signature)|\bX-(?:Amz|Goog)-(?:Signature|Credential|Security-Token))=)"
        rf"{_NEW}(?P<secret>(?=[^\s&]{{0,300}}\d)[^\s&\"'<>#]{{16,}})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "authorization",
        "bearer token ssws",
        rf"(?P<before>\b{_SCHEMES}\s{{1,8}})(?=\S{{0,300}}[0-9=]){_NEW}(?P<secret>[A-Za-z0-9+/=_.~\-]{{12,}})",
    ),
    _message_pattern(
        "authorization",
        "digest",
        rf"(?P<before>\bDigest\s{{1,8}}username=){_NEW}(?P<secret>[^\n]{{10,2000}})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "authorization",
        "authorization",
        rf"(?P<before>\bauthorization\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}b?\\?[\"']?(?:[A-Za-z\-]{{3,12}}\s{{1,8}})?)"
        rf"{_NEW}(?P<secret>(?=[^\s\"']{{0,300}}[0-9=_+/])[^\s\"',;\\]{{8,}}|[^\s\"',;\\]{{20,}})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "cookie",
        "cookie",
        rf"(?P<before>\bcookie\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}\\?[\"']?){_NEW}(?P<secret>[\w.\-]{{1,60}}=[^\s\"'\\][^\n\"'\\]{{4,}})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "account key",
        "key",
        rf"(?P<before>\b(?:account|subscription|shared[_\-]?access)[_\-]?key\\?[\"']?\s{{0,8}}[:=]\s{{0,8}}\\?[\"']?){_NEW}"
        r"(?P<secret>[A-Za-z0-9+/=_\-]{16,})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "password",
        "password -u",
        rf"(?P<before>\bpassword is\s{{1,4}}|\s-u\s{{1,4}}[^\s:@]{{1,60}}:)"
        rf"{_NEW}(?P<secret>(?=\S{{0,100}}\d)[^\s\"']{{6,}})",
        re.IGNORECASE,
    ),
    _message_pattern(
        "value of a secret's name",
        "token key secret pass pwd kennwort contrase wachtwoord senha set-cookie",
        rf"(?P<before>(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{1,40}}[_\-]){{0,4}}{NAMES}\\{{0,8}}[\"']?\s{{0,8}}(?:=>|[:=])\s{{0,8}})"
        rf"(?P<secret>\\{{1,8}}\"{_NEW}(?:(?!\\\").){{4,}}?\\{{1,8}}\"|\"{_NEW}(?:[^\"\\]|\\.){{4,}}\"|'{_NEW}[^']{{4,}}'"
        # a bare word is a value after "=", but after ":" a sentence may begin ("token: replay only")
        r"|(?![\"'\[{(\\])(?:(?<==)|(?=[A-Za-z]{0,100}[^A-Za-z\s,;\"'}\])\\]))[^\s,;\"'}\])\\]{6,})",
        re.IGNORECASE,
    ),
)
"""Secrets found by the words before them."""

BASIC: Final = lazy_pattern(r"\bbasic\s{1,8}(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})", re.IGNORECASE)
"""A user's name and password, if what it holds is that (`holds_password`)."""
NAMED: Final = lazy_pattern(
    r"\b(?:[a-z]{1,20}[_\-])?(?:key|token|credentials?)(?:\s(?:provided|given|used|supplied|is|was))?\s{0,4}[:=]?\s{0,4}[\"'`]?"
    r"(?P<secret>(?=[\w\-]{0,184}[A-Z0-9]{16})[\w\-]{20,200}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})(?![\w\-])",
    re.IGNORECASE,
)
"""What a sentence calls a key (`invalid key K`), if it looks random: a field's name in words does not."""
PREFIXED: Final = lazy_pattern(
    r"\b[A-Za-z][A-Za-z0-9]{1,11}(?:[_\-][A-Za-z0-9]{2,8}){0,2}[_\-](?=[A-Z0-9]{0,200}[a-z])(?=[a-z0-9]{0,200}[A-Z])"
    r"(?=[A-Za-z]{0,200}[0-9]{1,20}[A-Za-z]{1,200}[0-9])[A-Za-z0-9]{32,200}\b"
)
"""A key as most providers make them: a prefix, and random characters of all three kinds."""
HINTS: Final = ("basic", "credential", *dict.fromkeys(hint for form in (*TOKENS, *CONTEXT) for hint in form.hints))


def names_secret(name: str) -> bool:
    """Whether a member of an object is called like a secret: `openai_api_key`."""
    return _is_called(name, NAMES)


def names_credential(name: str) -> bool:
    """Whether a member is called like a secret and like nothing else: not `stop_token`."""
    return _is_called(name, _CREDENTIALS)


def _is_called(name: str, names: str) -> bool:
    pattern = _compiled_with_flags(rf"(?:.{{0,80}}[_\-\s.])?(?:{names}|{_OF_MEMBERS})", re.IGNORECASE)
    return pattern.fullmatch(name) is not None


def holds_password(encoded: str) -> bool:
    """Whether a text is base64 of `user:password`, as the scheme Basic has it."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except ValueError:
        return False
    return ":" in text and text.isprintable()
