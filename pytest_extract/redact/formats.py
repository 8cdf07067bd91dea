"""Forms of secrets: formats of providers' keys for a document's data, and looser patterns for messages.

A format is a prefix, an alphabet and a length, strict enough to be looked for in data: one that a provider publishes,
or that GitHub's secret scanning and gitleaks look for. What fits a format but holds words
(`sk-rail-mount-bracket-2040-profile`) is no key.

In messages, values beside certain words are secrets as well. None of this is looked for in a document's data, where
`{"token": "USDC-ETH"}` is a value like any other.

Each form brings hints: in every text that it matches, one of them occurs. Looking for them is many times faster than
the patterns. Repetitions are counted, so that a hostile text stays linear.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from pytest_extract.lazy import lazy_pattern

ENOUGH_BITS: Final = 40.0
ENOUGH_A_CHARACTER: Final = 2.1
"""Chance that a secret holds: random characters hold some 4 bits each, words and dates hardly more than 1."""
_WORD_BITS: Final = 8.0
_NUMBER_BITS: Final = 13.0
_CHANGE_BITS: Final = 3.0
_CHANGE: Final = lazy_pattern(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SEGMENT: Final = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|[0-9]+")
_NO_WORD: Final = lazy_pattern(r"[^aeiouy]{5}|^[^aeiouy]+$|^.$", re.IGNORECASE)


def bits(text: str) -> float:
    """Estimate how much chance a text holds: a word, a date or a serial number holds little, random characters much."""
    text = text[:400]
    return sum(map(_segment_bits, _SEGMENT.findall(text))) + _CHANGE_BITS * len(_CHANGE.findall(text))


def looks_random(text: str) -> bool:
    """Whether a text is so random that it occurs nowhere by accident."""
    found = bits(text)
    return found >= ENOUGH_BITS and found >= ENOUGH_A_CHARACTER * sum(map(str.isalnum, text[:400]))


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

    hints: each match contains one of them. pattern: compiled when it is first looked for, as compiling all takes 40 ms.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool] = bool


def _key_format(kind: str, hints: str, pattern: str, *, proof: bool = False) -> Form:
    """Return the format of a key; `proof`: the format alone is enough, whatever is in it."""
    whole = lazy_pattern(f"{_START}(?:{pattern}){_END}")
    return Form(kind, tuple(hints.split()), whole, bool if proof else looks_random)


def _prefixed(kind: str, prefixes: str, rest: str) -> Form:
    """Return the format of keys that begin with one of the prefixes; what follows is `rest`."""
    return _key_format(kind, prefixes, rf"(?:{'|'.join(map(re.escape, prefixes.split()))}){rest}")


PRIVATE_KEY: Final = Form(
    "private key",
    ("PRIVATE KEY",),
    lazy_pattern(
        rf"-----BEGIN [A-Z ]{{0,30}}{_ARMOR}"
        rf"(?:(?:(?!-----)[\s\S]){{0,20000}}-----END [A-Z ]{{0,30}}{_ARMOR}"
        r"|(?:[A-Za-z0-9+/=|>\s]|\\{1,8}[nrt]){0,20000})"
    ),
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


def _of_message(kind: str, hints: str, pattern: str, is_secret: Callable[[str], bool] = bool) -> Form:
    """Return a form in messages; its hints are in lower case."""
    return Form(kind, tuple(hints.split()), lazy_pattern(pattern, re.DOTALL), is_secret)


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
NAME_OF_SECRET: Final = lazy_pattern(rf"{_BEFORE}(?:{_NAMES}|{_OF_MEMBERS})", re.IGNORECASE)
"""What a member of an object is called that is a secret: `openai_api_key`."""
NAME_OF_CREDENTIAL: Final = lazy_pattern(rf"{_BEFORE}(?:{_CREDENTIALS}|{_OF_MEMBERS})", re.IGNORECASE)
"""What it is called if it can be nothing else: not `stop_token`."""

OF_MESSAGES: Final = (
    # known by themselves; looser than `FORMATS`, as a message may show a key in part
    _of_message(  # to the end of a message where it is cut off: lines of another kind may stand before its text
        PRIVATE_KEY.kind,
        "private",
        rf"-----BEGIN [A-Z ]{{0,30}}{_ARMOR}.*?(?:-----END [A-Z ]{{0,30}}{_ARMOR}|\Z)",
    ),
    _of_message(
        "API key",
        "sk pk- pk_ rk- rk_ hf_ hf- gsk_ gsk- r8_ r8- npm_ npm- dop_v1 tvly pplx xai_ xai- nvapi sdk- api- mob-",
        rf"\b(?:[spr]k|hf|gsk|r8|npm|dop_v1|tvly|pplx|xai|nvapi)[_-]{_RANDOM}|\bSK[0-9a-f]{{32}}\b"
        rf"|\b(?:sdk|api|mob|pk-lf)-{_UUID}\b",  # the last of LaunchDarkly, Langfuse
    ),
    _of_message(
        "access token",
        "sg. whsec_ lin_api_ fw_ atatt3 aiza aq.ab ya29. gocspx ghp_ gho_ ghu_ ghs_ ghr_ github_pat glpat- gldt- glrt- "
        "glptt- glcbt- xox xapp pypi- hvs. hvb. hvr. dp. age-secret",
        r"\b(?:(?:whsec_|lin_api_|fw_)[A-Za-z0-9+/]{20,}|pypi-[\w\-]{30,}|xox[abeoprs]-[A-Za-z0-9\-]{10,}"
        r"|(?:SG\.|ATATT3|AIza|AQ\.Ab|ya29\.|GOCSPX-|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|cbt)-"
        r"|xapp-|hv[sbr]\.|dp\.(?:st|pt|ct|sa|scim|audit)\.|AGE-SECRET-KEY-1)[\w\-.+/=]{20,})",
    ),
    _of_message(
        "web hook",
        "hooks",
        r"(?:hooks\.slack\.com/services/|/api/webhooks/)(?P<secret>[A-Za-z0-9]{5,30}/[\w\-/]{16,})",
    ),
    _of_message("JSON web token", "eyj", r"\beyJ[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]*"),
    _of_message(  # as most providers make keys: a prefix, and random characters of all three kinds
        "API key",
        "_ -",
        r"\b[A-Za-z][A-Za-z0-9]{1,11}(?:[_\-][A-Za-z0-9]{2,8}){0,2}[_\-](?=[A-Z0-9]{0,200}[a-z])(?=[a-z0-9]{0,200}[A-Z])"
        r"(?=[A-Za-z]{0,200}[0-9]{1,20}[A-Za-z]{1,200}[0-9])[A-Za-z0-9]{32,200}\b",
        is_secret=looks_random,
    ),
    # found by the words before them
    _of_message(
        "authorization",
        "basic",
        r"(?i)\bbasic\s{1,8}(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})",
        _holds_password,
    ),
    _of_message(
        "password in a URL",
        "://",
        rf"(?i)(?:\b[a-z][a-z0-9+.\-]{{0,20}}://[^\s/:@\"']{{0,200}}:)"
        rf"{_NEW}(?!\d{{1,5}}(?:[/?#]|$))(?P<secret>[^\s\"'<>]{{1,300}})(?=@)",
    ),
    _of_message(
        "token in a URL",
        "://",
        rf"(?i)(?:\bhttps?://){_NEW}(?P<secret>(?=[\w\-]*\d)[\w\-]{{16,200}})(?=@)",
    ),
    _of_message(
        "signature of a URL",
        "sig= key= code= auth= hmac= signature= credential= token=",
        rf"(?i)(?:(?:[?&](?:sig|key|code|auth|hmac|signature)|\bX-(?:Amz|Goog)-(?:Signature|Credential|Security-Token))=)"
        rf"{_NEW}(?P<secret>(?=[^\s&]{{0,300}}\d)[^\s&\"'<>#]{{16,}})",
    ),
    _of_message(
        "authorization",
        "bearer token ssws",
        rf"(?:\b{_SCHEMES}\s{{1,8}})(?=\S{{0,300}}[0-9=]){_NEW}(?P<secret>[A-Za-z0-9+/=_.~\-]{{12,}})",
    ),
    _of_message(
        "authorization",
        "digest",
        rf"(?i)(?:\bDigest\s{{1,8}}username=){_NEW}(?P<secret>[^\n]{{10,2000}})",
    ),
    _of_message(
        "authorization",
        "authorization",
        rf"(?i)(?:\bauthorization\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}b?\\?[\"']?(?:[A-Za-z\-]{{3,12}}\s{{1,8}})?)"
        rf"{_NEW}(?P<secret>(?=[^\s\"']{{0,300}}[0-9=_+/])[^\s\"',;\\]{{8,}}|[^\s\"',;\\]{{20,}})",
    ),
    _of_message(
        "cookie",
        "cookie",
        rf"(?i)(?:\bcookie\\?[\"']?\s{{0,8}}[:=,]\s{{0,8}}\\?[\"']?){_NEW}(?P<secret>[\w.\-]{{1,60}}=[^\s\"'\\][^\n\"'\\]{{4,}})",
    ),
    _of_message(
        "account key",
        "key",
        rf"(?i)(?:\b(?:account|subscription|shared[_\-]?access)[_\-]?key\\?[\"']?\s{{0,8}}[:=]\s{{0,8}}\\?[\"']?){_NEW}"
        r"(?P<secret>[A-Za-z0-9+/=_\-]{16,})",
    ),
    _of_message(
        "password",
        "password -u",
        rf"(?i)(?:\bpassword is\s{{1,4}}|\s-u\s{{1,4}}[^\s:@]{{1,60}}:)"
        rf"{_NEW}(?P<secret>(?=\S{{0,100}}\d)[^\s\"']{{6,}})",
    ),
    _of_message(
        "value of a secret's name",
        "token key secret pass pwd kennwort contrase wachtwoord senha set-cookie",
        rf"(?i)(?:(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{1,40}}[_\-]){{0,4}}{_NAMES}\\{{0,8}}[\"']?\s{{0,8}}(?:=>|[:=])\s{{0,8}})"
        rf"(?P<secret>\\{{1,8}}\"{_NEW}(?:(?!\\\").){{4,}}?\\{{1,8}}\"|\"{_NEW}(?:[^\"\\]|\\.){{4,}}\"|'{_NEW}[^']{{4,}}'"
        # a bare word is a value after "=", but after ":" a sentence may begin ("token: replay only")
        r"|(?![\"'\[{(\\])(?:(?<==)|(?=[A-Za-z]{0,100}[^A-Za-z\s,;\"'}\])\\]))[^\s,;\"'}\])\\]{6,})",
    ),
    _of_message(  # what a sentence calls a key (`invalid key K`), if it looks random: a field's name in words does not
        "API key",
        "key token credential",
        r"(?i)\b(?:[a-z]{1,20}[_\-])?(?:key|token|credentials?)(?:\s(?:provided|given|used|supplied|is|was))?\s{0,4}[:=]?\s{0,4}"
        r"[\"'`]?(?P<secret>(?=[\w\-]{0,184}[A-Z0-9]{16})[\w\-]{20,200}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})"
        r"(?![\w\-])",
        looks_random,
    ),
)
"""What is a secret in a message only, in the order in which it is looked for."""
