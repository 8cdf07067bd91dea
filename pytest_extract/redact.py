r"""Finds secrets in text, for every outlet of a run: recordings, results, reports, the terminal, JUnit XML.

Two rules, for two kinds of text. In a document's *data* (outputs, extracted values, golds) only what can be shown to be
a secret counts: a value of this process's environment, or the format of a provider's key (`FORMATS`). In *messages*
(exceptions, logs, headers) also what a name or a scheme gives away: `password=...`, `Authorization: ...`. Hiding
too much of a message costs little; a value of a document (`{"token": "USDC-ETH"}`) is never altered.

A format is a prefix, an alphabet and a length, strict enough to be looked for in data: one that a provider publishes,
or that GitHub's secret scanning and gitleaks look for. What fits a format but holds words
(`sk-rail-mount-bracket-2040-profile`) is no key. Each format brings hints: in every text that it matches, one of them
occurs. Looking for them is many times faster than the patterns. Repetitions are counted, so that a hostile text stays
linear.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from pytest_extract.core.values import Json, iter_leaves, text_digest

_VARIABLE: Final = re.compile(
    r"(?:^|_)(?:(?:API)?KEY|TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|PASS|PW|CREDENTIALS?|CREDS?|PAT|AUTH|BEARER|DSN|WEBHOOK|JWT|COOKIE|SALT)"
    r"(?:_(?!FILE|PATH|DIR|NAME|ID(?:_|$)|SOCK)|\d*$)|_PWD$|SECRET_ID$|(?:key|token|secret|password)$",
    re.IGNORECASE,
)
_CONNECTION_SECRET: Final = re.compile(
    r"(?:^|;)\s*(?:password|pwd|secret|(?:account|shared\s?access|access|api)\s?key)\s*=\s*([^;]+)", re.IGNORECASE
)
_SHORTEST: Final = 8
"""Characters of a value of the environment that is taken for a secret, at least."""
_SHORTEST_PIECE: Final = 6
_SHORTEST_BASE64: Final = 16
_ENOUGH_IN_MESSAGE: Final = 12.0
"""Bits (`bits`) of a value that a message is freed from: more than a word or a number holds."""
_RUN: Final = re.compile(r"[A-Za-z0-9_\-.~/:$=+@\\]{20,}")
"""What may hold any format but that of a private key, and the escape that may stand before it; most texts have none."""
_ELLIPSIS: Final = re.compile(r"…|\\u2026|\.\.\.")
_SHORTENED: Final = re.compile(rf"([\w\-]{{0,400}})({_ELLIPSIS.pattern})([\w\-]{{0,400}})")
_ESCAPED_BREAK: Final = re.compile(r"\\+n")
_BROKEN_UP: Final = re.compile(r"\\+[nrt]|\\+u[0-9a-fA-F]{4}|[\s\\]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was found: what it is (`kind`: "AWS key", or an environment variable's name), and its text."""

    kind: str
    text: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Digest by which a user allows the text (`extract_allow_secrets`)."""
        return text_digest(self.text)[:16]

    @property
    def mark(self) -> str:
        """The text that replaces the secret."""
        return f"[redacted: {self.kind}]"


Owned: TypeAlias = Callable[[Secret], bool]
"""Whether a secret is in the user's own files, so that it is data."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text, or a JSON value, without its secrets, and those in order of place."""

    value: Json
    secrets: tuple[Secret, ...] = ()


@dataclass(frozen=True, slots=True)
class Secrets:
    """What counts as a secret: the values of an environment, and the formats that are known.

    strong: values (to the name of their variable) that stand nowhere by accident, looked for everywhere. weak: values
    that are only looked for in messages. allowed: fingerprints of what is no secret to the user.
    """

    strong: dict[str, str] = field(default_factory=dict, repr=False)
    weak: dict[str, str] = field(default_factory=dict, repr=False)
    allowed: frozenset[str] = frozenset()

    def with_environ(self, environ: Mapping[str, str]) -> Secrets:
        """Return these and the secrets of an environment; a variable that is gone still counts."""
        found = [(value, name) for name, text in environ.items() for value in _secret_parts(name, text)]
        strong = self.strong | {value: name for value, name in found if looks_random(value)}
        weak = {value: name for value, name in found if value not in strong and bits(value) >= _ENOUGH_IN_MESSAGE}
        return replace(self, strong=strong, weak=self.weak | weak)

    def find(self, text: str, *, in_message: bool = False) -> tuple[Secret, ...]:
        """Return the secrets in data, each text once. In JSON they are found in their escaped form, too."""
        values = self.strong | self.weak if in_message else self.strong
        found = [Secret(name, value) for value, name in values.items() if any(f in text for f in _forms(value))]
        found += _of_format(text)
        allowed = [secret.text for secret in found if secret.fingerprint in self.allowed]
        kept = {secret.text: secret for secret in found if not any(secret.text in text for text in allowed)}
        return tuple(kept.values())

    def hide(self, text: str, found: Iterable[Secret]) -> str:
        """Replace secrets by marks, also where a message shows one shortened (`abcdef…uvwxyz`)."""
        longest_first = sorted(found, key=lambda secret: -len(secret.text))
        for secret in longest_first:
            for form in _forms(secret.text):
                text = text.replace(form, secret.mark)
        if _ELLIPSIS.search(text):  # after the whole ones: an ellipsis may stand beside one of them
            text = _SHORTENED.sub(lambda match: _hidden_pieces(match, longest_first), text)
        return text

    def hide_in(self, value: Json, found: Sequence[Secret]) -> Json:
        """`hide`, in every text of a JSON value."""
        return with_texts(value, lambda text: self.hide(text, found))

    def without(self, value: Json) -> Redacted:
        """Return a JSON value without the secrets of data, for a file that shows the value and is not scored again."""
        found = self.find(json.dumps(value))
        return Redacted(self.hide_in(value, found), found) if found else Redacted(value)

    def clean(self, message: str) -> Redacted:
        """Return a message without the secrets of data, and without what a name or a scheme gives away."""
        found = [each for each in self.find(message, in_message=True) if each.kind != PRIVATE_KEY.kind]
        message = self.hide(message, found)
        for form in OF_MESSAGES:
            message = form.pattern.sub(partial(self._mark, form, found), message)
        return Redacted(message, tuple(found))

    def clean_settings(self, value: Json) -> Json:
        """Return an extractor's parameters: cleaned like messages, and without the values of members like `api_key`."""
        return with_texts(value, lambda text: self.clean(text).value, NAME_OF_SECRET)

    def _mark(self, form: Form, found: list[Secret], match: re.Match[str]) -> str:
        """Return the replacement of a match: its group `secret`, or all of it, is replaced; quotes around it stay."""
        name = "secret" if "secret" in match.re.groupindex else 0
        text = match[name]
        edge = (re.match(r"\\{0,8}[\"']|", text) or match)[0]
        secret = Secret(form.kind, _ESCAPED_BREAK.sub("\n", text[len(edge) : len(text) - len(edge)]))
        if not form.is_secret(secret.text) or secret.fingerprint in self.allowed:
            return match[0]
        found.append(secret)
        start, end = match.span(name)
        before, after = match.string[match.start() : start], match.string[end : match.end()]
        return f"{before}{edge}{secret.mark}{edge}{after}"


class RedactionCounts:
    """What was hidden or not recorded in this process, for the summary of the run. Any thread may add to it."""

    def __init__(self) -> None:
        self._found: deque[tuple[str, str, str]] = deque()

    def add(self, place: str, secrets: Iterable[Secret]) -> None:
        """Add what was hidden in a place ("error message"); the text itself is not kept. A part counts as the whole."""
        longest_first = sorted(secrets, key=lambda secret: -len(secret.text))
        for index, secret in enumerate(longest_first):
            if not any(secret.text in whole.text for whole in longest_first[:index]):
                self._found.append((place, secret.kind, secret.fingerprint))

    def taken(self) -> list[tuple[str, str, str]]:
        """Return place, kind and fingerprint of what was added since the last time, each once."""
        return list(dict.fromkeys(self._found.popleft() for _ in range(len(self._found))))


TALLY: Final = RedactionCounts()
NOTHING_KNOWN: Final = Secrets()
"""The formats alone: the same on every machine."""


def without_credentials(settings: Json) -> Json:
    """Return an extractor's parameters for a digest: without known formats, and the values of members like `api_key`.

    All else counts as it is: a parameter that only looks like a secret (`stop_token`) changes outputs. What is written
    or shown takes `Secrets.clean_settings`.
    """
    return with_texts(settings, lambda text: NOTHING_KNOWN.without(text).value, NAME_OF_CREDENTIAL)


def with_texts(value: Json, change: Callable[[str], Json], secret_names: re.Pattern[str] | None = None) -> Json:
    """Return a JSON value with every text changed, keys too, and a mark for each text whose key is a secret's name."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [with_texts(item, change, secret_names) for item in value]
    if not isinstance(value, dict):
        return value
    changed: dict[Json, Json] = {}
    for key, item in value.items():
        is_secret = secret_names is not None and _is_secret_member(key, item, secret_names)
        new = Secret("value of a secret's name", item).mark if is_secret else with_texts(item, change, secret_names)
        changed[change(key) if isinstance(key, str) else key] = new
    return changed


def _is_secret_member(key: Json, item: Json, names: re.Pattern[str]) -> bool:
    if not isinstance(key, str) or not isinstance(item, str) or len(item) < 4 or item.startswith("[redacted: "):
        return False
    return names.fullmatch(key) is not None or (key.lower() == "cookie" and "=" in item)


def clean_message(message: str, place: str = "error message") -> str:
    """Return a message as it may be shown or written anywhere (`Secrets.clean`), and count what is hidden in it."""
    cleaned = current().clean(message)
    TALLY.add(place, cleaned.secrets)
    return str(cleaned.value)


_lock: Final = threading.Lock()
_current: Secrets | None = None


def current() -> Secrets:
    """Return the secrets of this process. Reads the environment only if `find_secrets_of_process` has not done so."""
    return find_secrets_of_process() if _current is None else _current


def find_secrets_of_process(allowed: Iterable[str] | None = None) -> Secrets:
    """Read the environment; for the main thread, before others run and after what may have changed it (a fixture).

    Other threads must not iterate over the environment: pytest changes it for every phase of every item.
    """
    global _current  # noqa: PLW0603  # the environment is the process's, and so is what is known of it
    with _lock:
        known = _current or NOTHING_KNOWN
        if allowed is not None:
            known = replace(known, allowed=frozenset(allowed))
        while True:
            with suppress(KeyError, RuntimeError):  # a thread of the user's has just changed it
                environ = dict(os.environ)
                break
        _current = known.with_environ(environ)
        return _current


def _secret_parts(name: str, text: str) -> list[str]:
    """Return what is secret in a variable: its value, or the password in its URL or its connection string."""
    text = text.strip()
    parts: list[str] = _CONNECTION_SECRET.findall(text) if ";" in text else []
    if not parts and "://" in text:
        with suppress(ValueError):  # no URL
            password = urlsplit(text).password or ""
            parts = [password, unquote(password)]
    elif not parts and _VARIABLE.search(name) and not text.startswith("arn:"):
        is_path = text.startswith(("/", "~", ".")) or text[1:3] == ":\\"
        if not (is_path and os.path.exists(os.path.expanduser(text))):  # noqa: PTH110, PTH111  # these never raise
            parts = [text]
    return [part for part in dict.fromkeys(parts) if len(part) >= _SHORTEST]


def _hidden_pieces(match: re.Match[str], found: Sequence[Secret]) -> str:
    pieces = [match[1], match[3]]
    for index, piece in enumerate(pieces):
        if len(piece) >= _SHORTEST_PIECE:
            pieces[index] = next((secret.mark for secret in found if piece in secret.text), piece)
    return match[2].join(pieces)


@lru_cache(maxsize=256)  # those of the environment are looked for in every output and message
def _forms(text: str) -> tuple[str, ...]:
    """Return how a text may stand in another: itself, escaped by JSON once or twice, in a URL, inside of base64."""
    once = json.dumps(text)[1:-1]
    unescaped = json.dumps(text, ensure_ascii=False)[1:-1]
    forms = [text, unescaped, once, json.dumps(once)[1:-1], repr(text)[1:-1], quote(text, safe="")]
    data = text.encode("utf-8", "surrogatepass")
    for before, first in enumerate((0, 2, 3)):  # what is the same whatever the text is the middle of: `user:text`
        whole = (before + len(data)) * 8 // 6
        in_base64 = base64.b64encode(bytes(before) + data).decode()[first:whole]
        if len(in_base64) >= _SHORTEST_BASE64:
            forms.append(in_base64)
    return tuple(dict.fromkeys(forms))


def _of_format(text: str) -> list[Secret]:
    """Find the formats of keys; none is looked for inside of another."""
    found: list[Secret] = []
    if PRIVATE_KEY.hints[0] in text:
        text = _take_out(PRIVATE_KEY, text, found)
    runs = "\n".join(dict.fromkeys(_RUN.findall(text)))
    for form in FORMATS:
        if any(hint in runs for hint in form.hints):
            runs = _take_out(form, runs, found)
    return found


def _take_out(form: Form, text: str, found: list[Secret]) -> str:
    def taken(match: re.Match[str]) -> str:
        if not form.is_secret(match[0]):
            return match[0]
        found.append(Secret(form.kind, _ESCAPED_BREAK.sub("\n", match[0])))
        return "\n"

    return form.pattern.sub(taken, text)


def held_by(texts: Callable[[], Sequence[str]]) -> Owned:
    """Return a test whether a secret is in texts of the user, which are read at the first call."""

    @cache
    def read() -> list[str]:
        return [_BROKEN_UP.sub("", text) for text in texts()]

    return lambda secret: any(_BROKEN_UP.sub("", secret.text) in text for text in read())


def withheld(output: Json, owned: Owned | None = None) -> str | None:
    """Say which secret keeps an output from being written to a file, where it is and how to allow it; None without one.

    Raises what `json.dumps` raises for an output that is no JSON.
    """
    found = [each for each in current().find(json.dumps(output)) if owned is None or not owned(each)]
    if not found:
        return None
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"the output holds a secret ({first.kind}) at {_place_of(first, output)}{more}; "
        f"if it is no secret, add {first.fingerprint} to extract_allow_secrets"
    )


def _place_of(secret: Secret, output: Json) -> str:
    """Return the place of a secret in an output: its line in a text, else its path."""

    def place_in(text: str) -> int:
        return max(text.find(form) for form in _forms(secret.text))

    if isinstance(output, str):
        return f"line {output[: max(place_in(output), 0)].count(chr(10)) + 1}"
    paths = (str(path) for path, leaf in iter_leaves(output) if isinstance(leaf, str) and place_in(leaf) >= 0)
    return next(paths, "one of its keys")


_WORD_BITS: Final = 8.0
_NUMBER_BITS: Final = 13.0
_CHANGE_BITS: Final = 3.0
_CHANGE: Final = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|[0-9]+")
_NO_WORD: Final = re.compile(r"[^aeiouy]{5}|^[^aeiouy]+$|^.$", re.IGNORECASE)


def bits(text: str) -> float:
    """Estimate how much chance a text holds: a word, a date or a serial number holds little, random characters much."""
    text = text[:400]
    return sum(map(_segment_bits, _SEGMENT.findall(text))) + _CHANGE_BITS * len(_CHANGE.findall(text))


def looks_random(text: str) -> bool:
    """Whether a text is so random that it occurs nowhere by accident.

    Random characters hold some 4 bits each, words and dates hardly more than 1.
    """
    return bits(text) >= max(40.0, 2.1 * sum(map(str.isalnum, text[:400])))


def _segment_bits(segment: str) -> float:
    if segment[0].isdigit():
        return min(3.3 * len(segment), _NUMBER_BITS)
    if _NO_WORD.search(segment) and len(segment) != 2:
        return 4.7 * len(segment)
    return min(3.0 * len(segment), _WORD_BITS * -(-len(segment) // 8))


# In the text of JSON, an escape may stand right before a key (\n, \u201c), and none is torn apart.
_START: Final = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})|(?<=\\\\))"
_END: Final = r"(?![A-Za-z0-9])"
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ARMOR: Final = r"PRIVATE KEY(?: BLOCK)?-----"


class Form(NamedTuple):
    """One form of a secret: a match (or its group `secret`) is one where `is_secret` says so of it.

    hints: each match contains one of them. Only the formats of keys have some.
    """

    kind: str
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool] = bool
    hints: tuple[str, ...] = ()


def _key_format(kind: str, hints: str, pattern: str, *, proof: bool = False) -> Form:
    """Return the format of a key; `proof`: the format alone is enough, whatever is in it."""
    whole = re.compile(f"{_START}(?:{pattern}){_END}")
    return Form(kind, whole, bool if proof else looks_random, tuple(hints.split()))


def _prefixed(kind: str, prefixes: str, rest: str) -> Form:
    """Return the format of keys that begin with one of the prefixes; what follows is `rest`."""
    return _key_format(kind, prefixes, rf"(?:{'|'.join(map(re.escape, prefixes.split()))}){rest}")


PRIVATE_KEY: Final = Form(
    "private key",
    re.compile(
        rf"-----BEGIN [A-Z ]{{0,30}}{_ARMOR}"
        rf"(?:(?:(?!-----)[\s\S]){{0,20000}}-----END [A-Z ]{{0,30}}{_ARMOR}"
        r"|(?:[A-Za-z0-9+/=|>\s]|\\{1,8}[nrt]){0,20000})"
    ),
    hints=("PRIVATE KEY",),
)
"""Also one that is cut off; its lines may be escaped (JSON) or indented (a traceback)."""

FORMATS: Final = (
    PRIVATE_KEY,
    _prefixed(
        "API key",  # of models, and of what surrounds them
        "sk- csk- gsk_ xai- pplx- hf_ api_org_ r8_ nvapi- tgp_v1_ tvly- lsv2_ ls__ pcsk_ jina_ llx- e2b_ rpa_ "
        "wandb_v1_ esecret_ land_sk_ hl_sk_ flp_ opk_ sk_car_ tpuf_ apify_api_ bb_live_ pai_ AIza AQ.Ab "
        "GOCSPX- bedrock-api-key-",
        r"[\w\-=]{20,2000}",
    ),
    # what other things begin with as well: whole lengths
    _key_format(
        "API key",
        "fw_ ak- as- fc- m0- sess- pa- sk_ rnd_ bce-v3/ALTAK-",
        r"fw_[A-Za-z0-9]{20,32}|a[ks]-[A-Za-z0-9]{22}|fc-[0-9a-f]{32}|(?:m0|sess)-[A-Za-z0-9]{40}|pa-[\w\-]{43}"
        r"|sk_[0-9a-f]{48}|rnd_[A-Za-z0-9]{28,40}|bce-v3/ALTAK-[A-Za-z0-9]{21}/[0-9a-f]{40}",
    ),
    _key_format("AWS key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", proof=True),
    _prefixed(
        "cloud key",
        "dop_v1_ dor_v1_ doo_v1_ HRKU- fo1_ nfp_ nfc_ sbp_ sb_secret_ napi_ cfut_ cfat_ "
        "cfk_ vcp_ vck_ vca_ vci_ vcr_ vercel_blob_rw_ mdb_sa_sk_ tk-us- akab- pscale_tkn_ pscale_pw_ "
        "pscale_oauth_ sha256~",
        r"[\w\-.=]{20,400}",
    ),
    _prefixed("cloud key", "essu_ aivenv1 fm1_ fm1a_ fm1r_ fm2_ glc_ sntrys_ whsec_", r"[A-Za-z0-9+/=_\-]{24,2000}"),
    _prefixed("Google token", "ya29. 1//0", r"[\w\-.]{30,2000}"),
    # kinds of their own: marks of parameters are in the digests of recordings, so a kind keeps its name
    _key_format("Azure secret", "Q~", r"[\w.~]{3}\dQ~[\w.~\-]{31,34}"),
    _key_format("Azure DevOps token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _key_format(
        "Azure key",
        "JQQJ9 AccountKey= AccessKey= APIM ACDb +ABa +AMC +ASt AzFu AzSe AzCa",
        r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{20,32}"
        r"|(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{43,86}={1,2}"
        r"|[A-Za-z0-9+/]{33,80}(?:APIM|ACDb|\+ABa|\+AMC|\+ASt|AzFu|AzSe|AzCa)[A-Za-z0-9+/]{5,6}(?:[AQgw]==|=)",
    ),
    _key_format("Cloudflare key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _key_format("ClickHouse key", "4b1d", r"4b1d[A-Za-z0-9]{38}"),
    _key_format("Yandex token", "t1.", r"t1\.[\w\-]{20,200}\.[\w\-]{86}"),
    _prefixed(
        "access token",  # code, packages, infrastructure, watching
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- gloas- glft- glimt- "
        "glagent- glffct- glwt- GR1348941 ATCTT3 ATATT3 npm_ pypi- rubygems_ dckr_pat_ dckr_oat_ "
        "hvs. hvb. hvr. pul- AGE-SECRET-KEY-1 ops_eyJ CCIPAT_ CCIPRJ_ bkua_ bkaj_ bkct_ bkpat_ tskey- sgp_ sqp_ "
        "squ_ sqa_ PMAK- pnu_ pnb_ dbtc_ dbtu_ dbts_ zpka_ CLOJARS_ snyk_uat. snyk_sat. sktsec_ dnkey- glsa_ "
        "sntryu_ NRAK- NRII- NRJS- NRRA- phx_ ddapp_ ddapi_ hcaik_ hcamk_ hcxik_ hcxmk_ hcxlk_ xaat- xapt- "
        "eyJrIjoi",
        r"[\w\-.=+/]{20,4000}",
    ),
    # base64 of another thing holds a few letters by chance: whole lengths
    _key_format(
        "access token",
        "cio oy2 EAA dapi LTAI AKID AQVN ABSK cflt ATBB AKCp cmVmd EZAK EZTK API- ico- p8e- cu_ aio_ secret_",
        r"cio[A-Za-z0-9]{32}|oy2[a-z0-9]{43}|EAA[A-Za-z0-9]{60,400}|dapi[0-9a-f]{32}(?:-\d)?|LTAI[A-Za-z0-9]{20}"
        r"|(?:AKID|ATBB)[A-Za-z0-9]{32}|AQVN[\w\-]{35,38}|ABSK[A-Za-z0-9+/]{100,200}={0,2}|cflt[A-Za-z0-9+/]{60}"
        r"|AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}|EZ[AT]K[A-Za-z0-9]{54}|API-[A-Z0-9]{25,32}|(?:ico-|p8e-|cu_)[A-Za-z0-9]{32,64}"
        r"|(?:aio|secret)_[A-Za-z0-9]{28,400}",
    ),
    _key_format("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{60,70}"),
    _key_format("Doppler token", "dp.", r"dp\.(?:st|pt|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _key_format("Harness token", "pat. sat.", r"[ps]at\.[\w\-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _key_format("New Relic key", "NRAL", r"[0-9a-f]{36}NRAL"),
    _key_format("Dynatrace token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _prefixed(
        "payment key",
        "sk_live_ sk_test_ sk_prod_ sk_org_live_ sk_org_test_ rk_live_ rk_test_ rk_prod_ pdl_live_apikey_ "
        "pdl_sdbx_apikey_ FLWSECK- FLWSECK_TEST- shippo_live_ shippo_test_ duffel_live_ duffel_test_ "
        "sq0atp- sq0csp- sq0idp- shpat_ shpca_ shppa_ shpss_",
        r"[\w\-=]{16,250}",
    ),
    _key_format(
        "payment key",
        "live_ test_ sandbox_ ck_ cs_ access_token$ access-",
        r"(?:live|test)_(?:[0-9a-f]{35}|[A-Za-z0-9]{30})|(?:live|sandbox)_[A-Za-z0-9_\-]{40}|c[ks]_[0-9a-f]{40}"
        r"|access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"
        rf"|access-(?:sandbox|development|production)-{_UUID}",
    ),
    _prefixed("mail key", "SG. xkeysib- xsmtpsib- mlsn.", r"[\w\-.]{32,100}"),
    _key_format(
        "mail key", "key- -us re_", r"key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}"
    ),
    _key_format(
        "Slack token",
        "xox xapp-",
        r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9]{1,13}-[A-Za-z0-9\-]{20,250}"
        r"|xapp-\d-[A-Z0-9]{5,20}-\d{8,16}-[0-9a-f]{16,80}",
        proof=True,
    ),
    _key_format(
        "web hook",
        "hooks.slack.com /api/webhooks/ webhookb2/",
        r"hooks\.slack\.com/[a-z]{5,12}/[A-Z0-9]{5,20}/[\w\-/]{20,80}"
        r"|discord(?:app)?\.com/api/webhooks/\d{16,21}/[\w\-]{50,90}"
        rf"|webhookb2/{_UUID}@{_UUID}/IncomingWebhook/[0-9a-f]{{32}}/{_UUID}",
    ),
    _key_format("Discord token", ".", r"[MNO][A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,38}"),
    _key_format("bot token", ":AA", r"\d{8,10}:AA[\w\-]{32,34}"),  # Telegram
    _prefixed(
        "access token",  # of an office
        "ntn_ lin_api_ lin_oauth_ figd_ figo_ figor_ figoh_ fio-u- rdme_ CFPAT- tfp_ sm_aat_ sm_pat_ sm_sat_",
        r"[\w\-.=]{16,100}",
    ),
    _key_format("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _key_format("Asana token", "/", r"[12]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32}", proof=True),
    _key_format("HubSpot token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    _key_format("ClickUp token", "pk_", r"pk_\d{5,12}_[A-Z0-9]{32}", proof=True),
    _key_format("MaxMind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _key_format("Dropbox token", "sl.", r"sl\.[\w\-.]{130,1500}"),
    _key_format("Mapbox token", "sk.eyJ", r"sk\.eyJ[\w\-]{40,200}\.[\w\-]{20,24}"),
    _key_format("JSON web token", "eyJ", r"eyJ[\w\-]{10,2000}\.eyJ[\w\-]{8,8000}\.[\w\-]{20,1500}"),
)
"""All of them; a private key comes first, as other formats may stand inside of it."""


def _of_message(kind: str, pattern: str, is_secret: Callable[[str], bool] = bool) -> Form:
    """Return a form in messages."""
    return Form(kind, re.compile(pattern, re.DOTALL), is_secret)


def _holds_password(encoded: str) -> bool:
    """Whether a text is base64 of `user:password`, as the scheme Basic has it."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except ValueError:
        return False
    return ":" in text and text.isprintable()


_RANDOM: Final = r"(?:(?=[\w\-]{0,200}[A-Za-z0-9]{16})[\w\-]{16,400}|[\w\-]{40,400})"
"""What follows a prefix that ordinary names have too: long without a hyphen, or very long."""
_SCHEMES: Final = r"(?:[Bb]earer|BEARER|[Tt]oken|SSWS)"
_NEW: Final = r"(?!\[redacted)"

_CREDENTIALS: Final = (
    r"(?:api[_\-\s]?key|apikey|x-api-key|secret(?:[_\-]?(?:access[_\-]?)?key)?|client[_\-]?secret|private[_\-]?key"
    r"|(?:access|auth|refresh|session|security|bearer|id|api)[_\-]?token|passphrase|pwd"
    r"|pass(?:word|wd|wort)|kennwort|mot de passe|contrase[nñ]a|wachtwoord|senha"
    r"|set-cookie)"
)
_NAMES: Final = rf"(?:{_CREDENTIALS}|token)"
_OF_MEMBERS: Final = r"(?:proxy-)?authorization|(?:account|subscription|shared[_\-]?access)[_\-]?key|x-goog-api-key"
"""More of them, where a member of an object says it: nothing in a text is called so by chance."""
_BEFORE: Final = r"(?:.{0,80}[_\-\s.])?"
NAME_OF_SECRET: Final = re.compile(rf"{_BEFORE}(?:{_NAMES}|{_OF_MEMBERS})", re.IGNORECASE)
"""What a member of an object is called that is a secret: `openai_api_key`."""
NAME_OF_CREDENTIAL: Final = re.compile(rf"{_BEFORE}(?:{_CREDENTIALS}|{_OF_MEMBERS})", re.IGNORECASE)
"""What it is called if it can be nothing else: not `stop_token`."""

OF_MESSAGES: Final = (
    # known by themselves; looser than `FORMATS`, as a message may show a key in part
    _of_message(  # to the end of a message where it is cut off: lines of another kind may stand before its text
        PRIVATE_KEY.kind,
        rf"-----BEGIN [A-Z ]{{0,30}}{_ARMOR}.*?(?:-----END [A-Z ]{{0,30}}{_ARMOR}|\Z)",
    ),
    _of_message(
        "API key",
        rf"\b(?:[spr]k|hf|gsk|r8|npm|dop_v1|tvly|pplx|xai|nvapi)[_-]{_RANDOM}|\bSK[0-9a-f]{{32}}\b"
        rf"|\b(?:sdk|api|mob|pk-lf)-{_UUID}\b",  # the last of LaunchDarkly, Langfuse
    ),
    _of_message(
        "access token",
        r"\b(?:(?:whsec_|lin_api_|fw_)[A-Za-z0-9+/]{20,}|pypi-[\w\-]{30,}|xox[abeoprs]-[A-Za-z0-9\-]{10,}"
        r"|(?:SG\.|ATATT3|AIza|AQ\.Ab|ya29\.|GOCSPX-|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|cbt)-"
        r"|xapp-|hv[sbr]\.|dp\.(?:st|pt|ct|sa|scim|audit)\.|AGE-SECRET-KEY-1)[\w\-.+/=]{20,})",
    ),
    _of_message(
        "web hook",
        r"(?:hooks\.slack\.com/services/|/api/webhooks/)(?P<secret>[A-Za-z0-9]{5,30}/[\w\-/]{16,})",
    ),
    _of_message("JSON web token", r"\beyJ[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]*"),
    _of_message(  # as most providers make keys: a prefix, and random characters of all three kinds
        "API key",
        r"\b[A-Za-z][A-Za-z0-9]{1,11}(?:[_\-][A-Za-z0-9]{2,8}){0,2}[_\-](?=[A-Z0-9]{0,200}[a-z])(?=[a-z0-9]{0,200}[A-Z])"
        r"(?=[A-Za-z]{0,200}[0-9]{1,20}[A-Za-z]{1,200}[0-9])[A-Za-z0-9]{32,200}\b",
        is_secret=looks_random,
    ),
    # found by the words before them
    _of_message("authorization", r"(?i)\bbasic\s{1,8}(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})", _holds_password),
    _of_message(
        "password in a URL",
        rf"(?i)(?:\b[a-z][a-z0-9+.\-]{{0,20}}://[^\s/:@\"']{{0,200}}:)"
        rf"{_NEW}(?!\d{{1,5}}(?:[/?#]|$))(?P<secret>[^\s\"'<>]{{1,300}})(?=@)",
    ),
    _of_message("token in a URL", rf"(?i)(?:\bhttps?://){_NEW}(?P<secret>(?=[\w\-]*\d)[\w\-]{{16,200}})(?=@)"),
    _of_message(
        "signature of a URL",
        rf"(?i)(?:(?:[?&](?:sig|key|code|auth|hmac|signature)|\bX-(?:Amz|Goog)-(?:Signature|Credential|Security-Token))=)"
        rf"{_NEW}(?P<secret>(?=[^\s&]{{0,300}}\d)[^\s&\"'<>#]{{16,}})",
    ),
    _of_message(
        "authorization",
        rf"(?:\b{_SCHEMES}\s{{1,8}})(?=\S{{0,300}}[0-9=]){_NEW}(?P<secret>[A-Za-z0-9+/=_.~\-]{{12,}})",
    ),
    _of_message("authorization", rf"(?i)(?:\bDigest\s{{1,8}}username=){_NEW}(?P<secret>[^\n]{{10,2000}})"),
    _of_message(
        "authorization",
        rf"(?i)(?:\bauthorization\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}b?\\?[\"']?(?:[A-Za-z\-]{{3,12}}\s{{1,8}})?)"
        rf"{_NEW}(?P<secret>(?=[^\s\"']{{0,300}}[0-9=_+/])[^\s\"',;\\]{{8,}}|[^\s\"',;\\]{{20,}})",
    ),
    _of_message(
        "cookie",
        rf"(?i)(?:\bcookie\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}\\?[\"']?){_NEW}(?P<secret>[\w.\-]{{1,60}}=[^\s\"'\\][^\n\"'\\]{{4,}})",
    ),
    _of_message(
        "account key",
        rf"(?i)(?:\b(?:account|subscription|shared[_\-]?access)[_\-]?key\\?[\"']?\s{{0,8}}[:=]\s{{0,8}}\\?[\"']?){_NEW}"
        r"(?P<secret>[A-Za-z0-9+/=_\-]{16,})",
    ),
    _of_message(
        "password",
        rf"(?i)(?:\bpassword is\s{{1,4}}|\s-u\s{{1,4}}[^\s:@]{{1,60}}:)"
        rf"{_NEW}(?P<secret>(?=\S{{0,100}}\d)[^\s\"']{{6,}})",
    ),
    _of_message(
        "value of a secret's name",
        rf"(?i)(?:(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{1,40}}[_\-]){{0,4}}{_NAMES}\\{{0,8}}[\"']?\s{{0,8}}(?:=>|[:=])\s{{0,8}})"
        rf"(?P<secret>\\{{1,8}}\"{_NEW}(?:(?!\\\").){{4,}}?\\{{1,8}}\"|\"{_NEW}(?:[^\"\\]|\\.){{4,}}\"|'{_NEW}[^']{{4,}}'"
        # a bare word is a value after "=", but after ":" a sentence may begin ("token: replay only")
        r"|(?![\"'\[{(\\])(?:(?<==)|(?=[A-Za-z]{0,100}[^A-Za-z\s,;\"'}\])\\]))[^\s,;\"'}\])\\]{6,})",
    ),
    _of_message(  # what a sentence calls a key (`invalid key K`), if it looks random: a field's name in words does not
        "API key",
        r"(?i)\b(?:[a-z]{1,20}[_\-])?(?:key|token|credentials?)(?:\s(?:provided|given|used|supplied|is|was))?\s{0,4}[:=]?\s{0,4}"
        r"[\"'`]?(?P<secret>(?=[\w\-]{0,184}[A-Z0-9]{16})[\w\-]{20,200}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})"
        r"(?![\w\-])",
        looks_random,
    ),
)
"""What is a secret in a message only, in the order in which it is looked for."""
