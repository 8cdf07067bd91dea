"""Secrets of every known form, made up on the spot, and data that only looks like one.

No key is spelled out here, lest a scanner of repositories (or a reader) take it for a real one.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,  # base62
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "h": string.digits + "abcdef",
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "z": string.ascii_letters,
    "B": string.ascii_uppercase + "234567",  # base32
    "Q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",  # bech32
}


def made(template: str, seed: int = 0) -> str:
    """Fill a template: `{a32}` is 32 characters of base62, `{U}` a UUID."""
    chance = random.Random(f"{template}{seed}")

    def fill(match: re.Match[str]) -> str:
        if match[1] == "U":
            return str(uuid.UUID(int=chance.getrandbits(128), version=4))
        text = "".join(chance.choice(_ALPHABETS[match[1]]) for _ in range(int(match[2])))
        return text if text[-1].isalnum() or match[1] == "b" else text[:-1] + "x"

    return re.sub(r"\{([alushdwbzBQU])(\d*)\}", fill, template)


NAMED = {"openai, project": "sk-proj-{w74}T3BlbkFJ{w74}", "aws": "AKIA{B16}", "notion": "ntn_{d11}{a35}"}
MODELS = """
sk-{a20}T3BlbkFJ{a20} sk-svcacct-{w60}T3BlbkFJ{w60} sk-admin-{w58}T3BlbkFJ{w58} sess-{a40} sk-ant-api03-{w93}AA
sk-ant-admin01-{w93}AA sk-ant-oat01-{w80} sk-or-v1-{h64} sk-{h32} sk-{a48} sk-{a22} sk-lf-{U} lsv2_pt_{h32}_{h10}
lsv2_sk_{h32}_{h10} ls__{h32} csk-{l48} gsk_{a52} xai-{a80} pplx-{a48} hf_{z34} api_org_{z34} r8_{a37} nvapi-{w64}
fw_{a24} tgp_v1_{w43} tvly-dev-{a32} pcsk_{a6}_{a63} pa-{w43} jina_{h32}{a28} llx-{a48} sk_{h48} fc-{h32} e2b_{h40}
rpa_{u44} ak-{a22} wandb_v1_{a70} esecret_{l40} land_sk_{a44} hl_sk_{h48} flp_{a46} opk_{h40} sk_car_{a22} m0-{a40}
tpuf_{a32} apify_api_{a36} bb_live_{a27} pai_{l32} AIza{w35} AQ.Ab{w50}
"""
CLOUDS = """
ASIA{B16} ABSK{b128} bedrock-api-key-{a60} ya29.{w120} 1//0{w60} GOCSPX-{w28} {a3}8Q~{a34} {a52}JQQJ99{a10}AC{a14}
AccountKey={b86}== SharedAccessKey={b43}= {a40}AzSe{a6}= {a76}AZDO{a4} LTAI{a20} AKID{a32} AQVN{w36} t1.{w60}.{w86}
bce-v3/ALTAK-{a21}/{h40} dop_v1_{h64} v1.0-{h24}-{h146} cfut_{a40}{h8} dapi{h32} HRKU-AA{w58} fo1_{w43} rnd_{a32}
nfp_{a36} vcp_{a56} vck_{a60} vercel_blob_rw_{a16}_{a30} sbp_{h40} sb_secret_{w36} pscale_tkn_{w43} napi_{l64}
mdb_sa_sk_{w40} essu_{a64} cflt{a60} 4b1d{a38} sha256~{w43} tk-us-{w48} akab-{l16}-{l16} aivenv1{a80}
"""
CODE = """
ghp_{a36} ghs_{a36} github_pat_{a22}_{a59} glpat-{w20} glrt-{w20} gloas-{h64} GR1348941{w20} ATBB{a32}
ATATT3{w180}={h8} npm_{a36} pypi-AgEIcHlwaS5vcmc{w120} rubygems_{h48} cio{a32} oy2{l43} dckr_pat_{w27} AKCp{a69}
hvs.{w90} {a14}.atlasv1.{w66} dp.st.dev.{a43} pul-{h40} AGE-SECRET-KEY-1{Q58} ops_eyJ{a300} CCIPAT_{a22}_{h40}
CCIPRJ_{a22}_{h40} bkua_{h40} bkaj_{a40} tskey-auth-{a17}-{a32} sgp_{h16}_{h40} sqp_{h40} PMAK-{h24}-{h34} pnu_{a36}
dbtc_{w40} ico-{a32} API-{u26} pat.{w22}.{h24}.{a20} zpka_{l32}_{h8} CLOJARS_{l60} snyk_uat.{h8}.{w60} sktsec_{w48}
dnkey-{w26}-{w52} p8e-{a32}
"""
WATCHING = """
glsa_{a32}_{h8} eyJrIjoi{a92} sntryu_{h64} NRAK-{u27} {h36}NRAL phx_{a43} dt0c01.{u24}.{u64} ddapp_{a34} hcaik_{l58}
xaat-{U} cu_{h32} aio_{a28} {a6}_{a29}_mmk
"""
PAYMENTS = """
sk_live_{a99} rk_test_{a24} sk_org_live_{a60} whsec_{a32} sq0atp-{w22} access_token$production${l16}${h32}
access-production-{U} shpat_{h32} live_{h35} live_{w40} live_{a30} pdl_live_apikey_{l26}_{a22}_{a3} FLWSECK-{h32}-X
cs_{h40} shippo_live_{h40} EZAK{a54} duffel_live_{w43}
"""
OFFICE = """
SG.{w22}.{w43} key-{h32} {h32}-us14 xkeysib-{h64}-{a16} re_{a8}_{a24} mlsn.{h64} xoxb-{d12}-{d13}-{a24}
xoxp-{d12}-{d12}-{d13}-{h32} xapp-1-A{u10}-{d13}-{h64} https://hooks.slack.com/services/T{u8}/B{u10}/{a24}
https://discord.com/api/webhooks/{d18}/{w68} M{a23}.{a6}.{w38} {d9}:AA{w33} EAA{a180} secret_{a43} lin_api_{a40}
https://x.webhook.office.com/webhookb2/{U}@{U}/IncomingWebhook/{h32}/{U} figd_{w40} pat{a14}.{h64} 2/{d16}/{d16}:{h32}
pat-na1-{U} CFPAT-{w43} tfp_{w44} sl.{w140} sk.eyJ{a80}.{a22} pk_{d8}_{u32} fio-u-{w64} rdme_{l70} sm_pat_{a16}
"""
FORMS = [*NAMED.values(), *f"{MODELS}{CLOUDS}{CODE}{WATCHING}{PAYMENTS}{OFFICE}".split()]
"""Formats of providers, by whose keys these are, with the alphabets and lengths that they publish."""


def _jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "iat": 1516239022})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return made(f"{'.'.join(encoded)}.{{w43}}")


_RSA = f"RSA {'PRIVATE'} KEY"
SECRETS = {
    **{name: made(form) for name, form in NAMED.items()},
    **{form: made(form) for form in FORMS[len(NAMED) :]},
    "json web token": _jwt(),
    "private key": made(f"-----BEGIN {_RSA}-----\n{{b64}}\n{{b64}}\n{{b40}}=\n-----END {_RSA}-----"),
    "private key, cut off": made(f"-----BEGIN {'PRIVATE'} KEY-----\n{{b64}}\n{{b60}}"),
}
"""A secret wherever they stand, in data too."""

IN_MESSAGES = {
    "provided": ("Incorrect API key provided: {}. You can find yours at https://platform.example", "{a32}"),
    "named": ("invalid key {} for tenant 7", "{l32}"),
    "equal": ("AuthenticationError: key={}", "{U}"),
    "token key": ("token_key: {}", "{a40}"),
    "credential": ("credential={}", "{h32}"),
    "no provider's that is known": ("not authorised: {}", "newco_live_{a20}a1B{a20}"),
    "launchdarkly": ("no such project: {}", "sdk-{U}"),
    "langfuse, public": ("no such project: {}", "pk-lf-{U}"),
    "okta": ("Authorization: SSWS {}", "00{w40}"),
    "bearer": ("Authorization: Bearer {}", "{a32}"),
    "basic": ("authorization: Basic {}", base64.b64encode(made("admin:{a12}").encode()).decode()),
    "api key header": ("{{'x-api-key': '{}'}}", "{a24}"),
    "escaped json": ('{{"raw": "{{\\"api_key\\": \\"{}\\"}}"}}', "{a40}"),
    "doubly escaped json": ('{{\\\\"api_key\\\\": \\\\"{}\\\\"}}', "{a40}"),
    "url": ("postgres://admin:{}@db.example/x", "{a14}"),
    "env line": ("COHERE_API_KEY={}", "{a40}"),
    "cookie": ("Set-Cookie: session={}", "{a32}"),
    "signed url": ("https://b.example/f?sv=2020&sig={}", "{a43}"),
    "odbc": ("Server=db;Uid=sa;Pwd={};", "{a12}"),
    "password": ("Passwort: {}", "{a12}"),
}
"""A frame, and the secret in it: known by what stands around them, in messages only."""
IN_MESSAGES = {name: (frame, made(secret)) for name, (frame, secret) in IN_MESSAGES.items()}

_HEX = {n: made(f"{{h{n}}}") for n in (32, 40, 56, 64, 96, 128)}
MEMBERS = [
    {"Password": "required"},
    {"password": "hunter2x"},
    {"api_key": "see appendix B"},
    {"api-key": made("{a84}")},
    {"client_secret": "yes"},
    {"token": "USDC-ETH"},
    {"token": "0x6B175474E89094C44Da98b954EedeAC495271d0F"},
    {"session_token": "S-2024-0000123456"},
    {"auth_token": made("{a32}")},
    {"id_token": made("{U}")},
    {"Authorization": "Bearer of this certificate"},
    {"authorization": "granted by the board 2024-05-01"},
    {"Cookie": "chocolate chip; weight=250"},
    {"cookie": "session=abcdef1234567890"},
    {"private_key": "stored in the safe"},
    {"account_key": "4711-0815"},
    {"shared_access_key": "door 4"},
    {"pwd": "48281733"},
]
SENTENCES = [
    "Queue token: A12-0034",
    "PWD: Public Works Department",
    "Kennwort: Spende",
    "Passwort: 12345678 (Aktenzeichen)",
    "password is required1 for entry",
    "The security token: Series B preferred 2024",
    "api key = KEY-2024-AB",
    "Authorization: PA-99-12345678 approved",
    "authorization=ABCD_1234567890",
    "account key: 4711-0815-2042-1234",
    "Cookie: weight=250 grams",
    "user -u admin:2024",
    "Basic dXNlcjpwYXNzd29yZA==",
    "bearer 123456789012",
    "Bearer bond 2031-4.25% US912828XG33",
    "Digest username=press-review 2024, weekly",
    "SharedAccessKey=see chapter 12",
    "EAA Oshkosh AirVenture 2024",
    "12345678:AA rating, outlook stable",
    "ya29 is a road in Yorkshire",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B\n-----END PUBLIC KEY-----",
]
ADDRESSES = """
https://shop.com/item?code=ABCDEF1234567890 https://shop.com/item?key=ABCDEF1234567890&auth=9876543210ABCDEF
https://example.org/x?sig=1234567890abcdef1234 https://example.org/login?token=abcdef1234567890&code=DE
https://user:2024@archive.example/report postgres://reader:public1@db.example.org/open-data
https://tok3nAbCdEf123456789@github.com/o/r.git https://hooks.example.com/services/T00/B00/x
https://www.sec.gov/Archives/edgar/data/320193/000032019324000123/aapl-20240928.htm
s3://bucket-2024/invoices/8f14e45fceea167a5a36dedd4bea2543.pdf mailto:billing+ref8842kx@example.org
"""
NUMBERS = """
DE89-3704-0044-0532-0130-00 GB29NWBK60161331926819 FR1420041010050500013M02606 5555555555554444 US0378331005
529900T8BM49AURSDO55 COBADEFFXXX 1HGCM82633A004352 1Z999AA10123456784 978-3-16-148410-0 0000-0002-1825-0097
RE-2026-000012345678901234567890 PK-1234567890-ABCDEFGH-XY INV2024A7K9Q2M4X8 PO#4500012345/00010 MSKU1234565
C02XK0AAJGH5 00:1B:44:11:3A:B7 2001:0db8:85a3:0000:0000:8a2e:0370:7334 bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
0x742d35Cc6634C0532925a3b844Bc454e4438f44e ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG 1/2024 2/1234567890:12
"""
NEAR_A_PREFIX = """
sk-rail-mount-bracket-2040-profile SK-000123456789-2024 gsk-annualreport2024fullversion
pk-steel-beam-hea-200-galvanised-12m hf-radio-antenna-dipole-40m-kit-2024 npm-package-lock-version-checker-2
xai-explainability-report-2024-final r8-engine-v10-plus-performance-2023 key-account-manager-dach-region-2024
pa-system-outdoor-1000w-set-with-stands-2024 pat-testing-certificate-2024-000123 pat-na1-north-america-region-one-report
re_invoice_reminder_second_notice_2024 fc-barcelona-season-ticket-2024-25-row-12 ak-steel-holding-corporation-2019
secret_of_good_coffee_is_fresh_beans_and_water as-built-drawings-revision-c-2024 as-9X8B7C6D5E4F3G2H1J0KL
rnd_department_annual_budget_overview_2024 fw_version_4_2_1_release_candidate_2 AKIA ASIAPACIFICREGION2024 EAAB2024REPORT
SG.2024.annual dp.st.petersburg.2024 glass-2024-tempered-8mm-clear-float risk-assessment-2024-000123456789-abcdef
task-force-of-the-ministry-2024-0000012345 desk-a1b2c3d4-oak-160x80 eyJhbGciOiJIUzI1NiJ9 hvs.example.org
v1.0-2024-release whsec_ tok_visa_1234
"""
RANDOM = (
    "{U} urn:uuid:{U} {b88} {b160}== {l40} {a24} {u16} sess-{U} rnd_{U} test_{w40} sha256-{b43}= SK{h32} sha256:{h64}"
)
LEGAL = [
    *MEMBERS,
    *SENTENCES,
    *f"{ADDRESSES}{NUMBERS}{NEAR_A_PREFIX}".split(),
    *(made(template) for template in RANDOM.split()),
    *_HEX.values(),
    f"md5 {_HEX[32].upper()}",
    f"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{made('{b120}')}",
]
"""Values of documents: each is extracted, recorded and replayed as it is."""
