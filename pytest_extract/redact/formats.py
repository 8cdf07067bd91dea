r"""Formats of providers' keys: a prefix, an alphabet and a length, strict enough to be looked for in a document's data.

The formats are the ones that the providers publish or that GitHub's secret scanning and gitleaks look for. What fits
a format but holds words (`sk-rail-mount-bracket-2040-profile`) is no key. Repetitions are counted,
so that a hostile text stays linear.
"""

from __future__ import annotations

import re
from functools import cache
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


class KeyFormat(NamedTuple):
    """One format. `hints`: each match contains one of them. `proof`: the format alone is enough, whatever is in it."""

    kind: str
    hints: tuple[str, ...]
    source: str
    proof: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        """The format as a pattern, compiled when its hint first turns up: compiling all takes 40 ms."""
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


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


def _key_format(kind: str, hints: str, pattern: str, *, proof: bool = False) -> KeyFormat:
    return KeyFormat(kind, tuple(hints.split()), f"{_START}(?:{pattern}){_END}", proof)


PRIVATE_KEY: Final = KeyFormat(
    "private key",
    ("PRIVATE KEY",),
    rf"-----BEGIN [A-Z ]{{0,30}}{_ARMOR}"
    rf"(?:(?:(?!-----)[\s\S]){{0,20000}}-----END [A-Z ]{{0,30}}{_ARMOR}"
    r"|(?:[A-Za-z0-9+/=|>\s]|\\{1,8}[nrt]){0,20000})",
    proof=True,
)
"""Also one that is cut off; its lines may be escaped (JSON) or indented (a traceback)."""

FORMATS: Final = (
    PRIVATE_KEY,
    # models and what surrounds them
    _key_format(
        "API key", "sk-", r"sk-[\w\-]{20,250}"
    ),  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse, LiteLLM, ...
    _key_format("Cerebras key", "csk-", r"csk-[a-z0-9]{40,60}"),
    _key_format("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _key_format("xAI key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _key_format("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{32,64}"),
    _key_format("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,40}"),
    _key_format("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    _key_format("NVIDIA key", "nvapi-", r"nvapi-[\w\-]{60,80}"),
    _key_format("Fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,32}"),
    _key_format("Together key", "tgp_v1_", r"tgp_v1_[\w\-]{40,50}"),
    _key_format("Tavily key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{30,40}"),
    _key_format("LangSmith key", "lsv2_ ls__", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|ls__[0-9a-f]{32}"),
    _key_format("Pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,70}"),
    _key_format("Voyage key", "pa-", r"pa-[\w\-]{43}"),
    _key_format("Jina key", "jina_", r"jina_[0-9a-f]{32}[\w\-]{28}"),
    _key_format("LlamaCloud key", "llx-", r"llx-[A-Za-z0-9]{44,52}"),
    _key_format("ElevenLabs key", "sk_", r"sk_[0-9a-f]{48}"),
    _key_format("Firecrawl key", "fc-", r"fc-[0-9a-f]{32}"),
    _key_format("E2B key", "e2b_", r"e2b_[0-9a-f]{40}"),
    _key_format("RunPod key", "rpa_", r"rpa_[A-Z0-9]{38,50}"),
    _key_format("Modal token", "ak- as-", r"a[ks]-[A-Za-z0-9]{22}"),
    _key_format("Weights & Biases key", "wandb_v1_", r"wandb_v1_\w{60,90}"),
    _key_format("OpenAI session", "sess-", r"sess-[A-Za-z0-9]{40}"),
    _key_format("Anyscale key", "esecret_", r"esecret_[A-Za-z0-9]{20,60}"),
    _key_format("LandingAI key", "land_sk_", r"land_sk_[A-Za-z0-9]{32,60}"),
    _key_format("Humanloop key", "hl_sk_", r"hl_sk_[0-9a-f]{40,64}"),
    _key_format("Friendli token", "flp_", r"flp_[A-Za-z0-9]{40,60}"),
    _key_format("OpenPipe key", "opk_", r"opk_[0-9a-f]{40,60}"),
    _key_format("Cartesia key", "sk_car_", r"sk_car_[A-Za-z0-9]{20,32}"),
    _key_format("Mem0 key", "m0-", r"m0-[A-Za-z0-9]{40}"),
    _key_format("Turbopuffer key", "tpuf_", r"tpuf_[A-Za-z0-9]{30,40}"),
    _key_format("Apify token", "apify_api_", r"apify_api_[A-Za-z0-9]{34,42}"),
    _key_format("Browserbase key", "bb_live_", r"bb_live_[A-Za-z0-9_\-]{20,40}"),
    _key_format("Private AI key", "pai_", r"pai_[A-Za-z0-9]{32}"),
    _key_format("Baidu key", "bce-v3/ALTAK-", r"bce-v3/ALTAK-[A-Za-z0-9]{21}/[0-9a-f]{40}"),
    # clouds
    _key_format("AWS key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", proof=True),
    _key_format("AWS Bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,200}={0,2}"),
    _key_format("AWS Bedrock key", "bedrock-api-key-", r"bedrock-api-key-[\w=]{40,2000}"),
    _key_format("Google key", "AIza", r"AIza[\w\-]{35}"),
    _key_format("Google key", "AQ.Ab", r"AQ\.Ab[\w\-]{40,80}"),
    _key_format("Google token", "ya29. 1//0", r"ya29\.[\w\-.]{30,2000}|1//0[\w\-]{40,200}"),
    _key_format("Google key", "GOCSPX-", r"GOCSPX-[\w\-]{28}"),
    _key_format("Azure secret", "Q~", r"[\w.~]{3}\dQ~[\w.~\-]{31,34}"),
    _key_format("Azure key", "JQQJ9", r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{20,32}"),
    _key_format("Azure key", "AccountKey= AccessKey=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{43,86}={1,2}"),
    _key_format(
        "Azure key",
        "APIM ACDb +ABa +AMC +ASt AzFu AzSe AzCa",
        r"[A-Za-z0-9+/]{33,80}(?:APIM|ACDb|\+ABa|\+AMC|\+ASt|AzFu|AzSe|AzCa)[A-Za-z0-9+/]{5,6}(?:[AQgw]==|=)",
    ),
    _key_format("Azure DevOps token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _key_format("Alibaba key", "LTAI", r"LTAI[A-Za-z0-9]{20}"),
    _key_format("Tencent key", "AKID", r"AKID[A-Za-z0-9]{32}"),
    _key_format("Yandex key", "AQVN", r"AQVN[\w\-]{35,38}"),
    _key_format("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _key_format("Cloudflare key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _key_format("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _key_format("Heroku key", "HRKU-", r"HRKU-[\w\-]{36,64}"),
    _key_format("Fly token", "fo1_ fm1 fm2_", r"fo1_[\w\-]{43}|fm(?:1[ar]?|2)_[A-Za-z0-9+/=]{80,2000}"),
    _key_format("Render key", "rnd_", r"rnd_[A-Za-z0-9]{28,40}"),
    _key_format("Netlify token", "nfp_ nfc_", r"nf[pc]_[A-Za-z0-9]{36}"),
    _key_format("Supabase key", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[\w\-]{30,48}"),
    _key_format("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=\-]{32,64}"),
    _key_format("Neon key", "napi_", r"napi_[a-z0-9]{64}"),
    _key_format("Cloudflare token", "cfut_ cfat_ cfk_", r"cf(?:ut|at|k)_[A-Za-z0-9]{40}[0-9a-f]{8}"),
    _key_format("Vercel token", "vcp_ vck_ vca_ vci_ vcr_", r"vc[pkair]_[A-Za-z0-9]{24,80}"),
    _key_format("Vercel token", "vercel_blob_rw_", r"vercel_blob_rw_[A-Za-z0-9]{12,24}_[A-Za-z0-9]{24,48}"),
    _key_format("MongoDB secret", "mdb_sa_sk_", r"mdb_sa_sk_[\w\-]{32,48}"),
    _key_format("Elastic key", "essu_", r"essu_[A-Za-z0-9+/]{40,120}={0,2}"),
    _key_format("Confluent key", "cflt", r"cflt[A-Za-z0-9+/]{60}"),
    _key_format("ClickHouse key", "4b1d", r"4b1d[A-Za-z0-9]{38}"),
    _key_format("OpenShift token", "sha256~", r"sha256~[\w\-]{43}"),
    _key_format("Scalingo token", "tk-us-", r"tk-us-[\w\-]{48}"),
    _key_format("Akamai key", "akab-", r"akab-[A-Za-z0-9]{16}-[A-Za-z0-9]{16}"),
    _key_format("Aiven token", "aivenv1", r"aivenv1[A-Za-z0-9+/=]{60,400}"),
    _key_format("Yandex token", "t1.", r"t1\.[\w\-]{20,200}\.[\w\-]{86}"),
    # code, packages, infrastructure
    _key_format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _key_format("GitHub token", "github_pat_", r"github_pat_\w{36,255}"),
    _key_format(
        "GitLab token",
        "glpat- gldt- glrt- glrtr- glptt- glcbt- glsoat- gloas- glft- glimt- glagent- glffct- glwt-",
        r"gl(?:pat|dt|rt|rtr|ptt|cbt|soat|oas|ft|imt|agent|ffct|wt)-[\w\-.]{20,300}",
    ),
    _key_format("GitLab token", "GR1348941", r"GR1348941[\w\-]{20}"),
    _key_format("Bitbucket token", "ATBB ATCTT3", r"ATBB[A-Za-z0-9]{32}|ATCTT3[\w\-=]{60,250}"),
    _key_format("Atlassian token", "ATATT3", r"ATATT3[\w\-=]{60,250}"),
    _key_format("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _key_format("PyPI token", "pypi-", r"pypi-[\w\-]{50,400}"),
    _key_format("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _key_format("crates.io token", "cio", r"cio[A-Za-z0-9]{32}"),
    _key_format("NuGet key", "oy2", r"oy2[a-z0-9]{43}"),
    _key_format("Docker token", "dckr_", r"dckr_(?:pat|oat)_[\w\-]{27,40}"),
    _key_format("Artifactory key", "AKCp cmVmd", r"AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}"),
    _key_format("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w\-]{24,300}"),
    _key_format("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{60,70}"),
    _key_format("Doppler token", "dp.", r"dp\.(?:st|pt|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _key_format("Pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    _key_format("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _key_format("1Password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{200,4000}={0,3}"),
    _key_format("CircleCI token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _key_format("Buildkite token", "bkua_", r"bkua_[0-9a-f]{40}"),
    _key_format("Tailscale key", "tskey-", r"tskey-[a-z]{3,8}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}"),
    _key_format("Sourcegraph token", "sgp_", r"sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}"),
    _key_format("SonarQube token", "sqp_ squ_ sqa_", r"sq[pua]_[0-9a-f]{40}"),
    _key_format("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _key_format("CircleCI token", "CCIPRJ_", r"CCIPRJ_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _key_format("Buildkite token", "bkaj_ bkct_ bkpat_", r"bk(?:aj|ct|pat)_[A-Za-z0-9]{40,64}"),
    _key_format("Prefect key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    _key_format("dbt token", "dbtc_ dbtu_ dbts_", r"dbt[cus]_[\w\-]{32,60}"),
    _key_format("Infracost key", "ico-", r"ico-[A-Za-z0-9]{32}"),
    _key_format("Octopus key", "API-", r"API-[A-Z0-9]{25,32}"),
    _key_format("Harness token", "pat. sat.", r"[ps]at\.[\w\-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _key_format("Zuplo key", "zpka_", r"zpka_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    _key_format("Clojars token", "CLOJARS_", r"CLOJARS_[A-Za-z0-9]{60}"),
    _key_format("Snyk token", "snyk_", r"snyk_[us]at\.[0-9a-f]{8}\.[\w\-]{40,200}"),
    _key_format("Socket token", "sktsec_", r"sktsec_[\w\-]{40,90}"),
    _key_format("Defined token", "dnkey-", r"dnkey-[A-Za-z0-9_=\-]{26}-[A-Za-z0-9_=\-]{52}"),
    _key_format("Adobe secret", "p8e-", r"p8e-[A-Za-z0-9_\-]{32}"),
    # watching
    _key_format("Grafana token", "glc_ glsa_", r"glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    _key_format("Sentry token", "sntrys_ sntryu_", r"sntrys_eyJ[\w+/=\-]{60,400}|sntryu_[0-9a-f]{64}"),
    _key_format("New Relic key", "NRAK- NRII- NRJS- NRRA-", r"NR(?:AK|II|JS|RA)-[\w\-]{19,42}"),
    _key_format("New Relic key", "NRAL", r"[0-9a-f]{36}NRAL"),
    _key_format("PostHog key", "phx_", r"phx_[A-Za-z0-9]{40,60}"),
    _key_format("Dynatrace token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _key_format("Datadog key", "ddapp_ ddapi_", r"dda(?:pp|pi)_[A-Za-z0-9]{32,40}"),
    _key_format("Honeycomb key", "hcaik_ hcamk_ hcxik_ hcxmk_ hcxlk_", r"hc[ax][iml]k_[A-Za-z0-9]{58}"),
    _key_format("Axiom token", "xaat- xapt-", rf"xa[ap]t-{_UUID}"),
    _key_format("Checkly key", "cu_", r"cu_[0-9a-f]{32}"),
    _key_format("Grafana token", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9]{60,400}={0,2}"),
    # payment, mail, chat, office
    _key_format(
        "Stripe key", "k_live_ k_test_ k_prod_ k_org_", r"[sr]k_(?:org_)?(?:live|test|prod)_[A-Za-z0-9]{16,250}"
    ),
    _key_format("signing secret of a web hook", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,80}"),
    _key_format("Lob key", "live_ test_", r"(?:live|test)_[0-9a-f]{35}"),
    _key_format("GoCardless token", "live_ sandbox_", r"(?:live|sandbox)_[A-Za-z0-9_\-]{40}"),
    _key_format("Mollie key", "live_ test_", r"(?:live|test)_[A-Za-z0-9]{30}"),
    _key_format("Paddle key", "pdl_", r"pdl_(?:live|sdbx)_apikey_[A-Za-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}"),
    _key_format("Flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}-X"),
    _key_format("WooCommerce key", "ck_ cs_", r"c[ks]_[0-9a-f]{40}"),
    _key_format("Shippo token", "shippo_", r"shippo_(?:live|test)_[0-9a-f]{40}"),
    _key_format("EasyPost key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _key_format("Duffel token", "duffel_", r"duffel_(?:live|test)_[\w=\-]{43}"),
    _key_format("Square token", "sq0", r"sq0(?:atp|csp|idp)-[\w\-]{22,43}"),
    _key_format(
        "Braintree token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"
    ),
    _key_format("Plaid token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _key_format("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _key_format("SendGrid key", "SG.", r"SG\.[\w\-]{16,32}\.[\w\-]{32,64}"),
    _key_format("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _key_format("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _key_format("Brevo key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _key_format("MailerSend key", "mlsn.", r"mlsn\.[0-9a-f]{64}"),
    _key_format("Resend key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}"),
    _key_format(
        "Slack token", "xox", r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9]{1,13}-[A-Za-z0-9\-]{20,250}", proof=True
    ),
    _key_format("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]{5,20}-\d{8,16}-[0-9a-f]{16,80}", proof=True),
    _key_format(
        "web hook",
        "hooks.slack.com",
        r"hooks\.slack\.com/[a-z]{5,12}/[A-Z0-9]{5,20}/[\w\-/]{20,80}",
    ),
    _key_format("web hook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{16,21}/[\w\-]{50,90}"),
    _key_format(
        "web hook",
        "webhookb2/",
        rf"webhookb2/{_UUID}@{_UUID}/IncomingWebhook/[0-9a-f]{{32}}/{_UUID}",
    ),
    _key_format("Discord token", ".", r"[MNO][A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,38}"),
    _key_format("bot token", ":AA", r"\d{8,10}:AA[\w\-]{32,34}"),  # Telegram
    _key_format("Facebook token", "EAA", r"EAA[A-Za-z0-9]{60,400}"),
    _key_format("Notion token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}"),
    _key_format("Linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _key_format("Figma token", "figd_ figo_ figor_ figoh_", r"fig(?:d|o|or|oh)_[\w\-]{38,60}"),
    _key_format("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _key_format("Asana token", "/", r"[12]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32}", proof=True),
    _key_format("HubSpot token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    _key_format("ClickUp token", "pk_", r"pk_\d{5,12}_[A-Z0-9]{32}", proof=True),
    _key_format("Frame.io token", "fio-u-", r"fio-u-[\w=\-]{64}"),
    _key_format("ReadMe key", "rdme_", r"rdme_[A-Za-z0-9]{60,80}"),
    _key_format("Adafruit key", "aio_", r"aio_[A-Za-z0-9]{28}"),
    _key_format("MaxMind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _key_format("SettleMint token", "sm_", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}"),
    _key_format("Contentful token", "CFPAT-", r"CFPAT-[\w\-]{43}"),
    _key_format("Typeform token", "tfp_", r"tfp_[\w.=\-]{44,70}"),
    _key_format("Dropbox token", "sl.", r"sl\.[\w\-.]{130,1500}"),
    _key_format("Mapbox token", "sk.eyJ", r"sk\.eyJ[\w\-]{40,200}\.[\w\-]{20,24}"),
    _key_format("JSON web token", "eyJ", r"eyJ[\w\-]{10,2000}\.eyJ[\w\-]{8,8000}\.[\w\-]{20,1500}"),
)
"""All of them; a private key comes first, as other formats may stand inside of it."""
