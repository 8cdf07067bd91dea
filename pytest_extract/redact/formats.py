r"""Formats of providers' keys: a prefix, an alphabet and a length, strict enough to be looked for in a document's data.

The formats are the ones that the providers publish or that GitHub's secret scanning and gitleaks look for. What fits
a format but holds words (`sk-rail-mount-bracket-2040-profile`) is no key. Repetitions are counted,
so that a hostile text stays linear.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

ENOUGH_BITS: Final = 40.0
ENOUGH_A_CHARACTER: Final = 2.1
"""Chance that a secret holds: random characters hold some 4 bits each, words and dates hardly more than 1."""
_WORD_BITS: Final = 8.0
_NUMBER_BITS: Final = 13.0
_CHANGE_BITS: Final = 3.0
_CHANGE: Final = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]|[0-9]+")
_NO_WORD: Final = re.compile(r"[^aeiouy]{5}|^[^aeiouy]+$|^.$", re.IGNORECASE)


class Format(NamedTuple):
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
    """Whether a text is so much of a chance that it stands nowhere by accident."""
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


def _format(kind: str, hints: str, pattern: str, *, proof: bool = False) -> Format:
    return Format(kind, tuple(hints.split()), f"{_START}(?:{pattern}){_END}", proof)


PRIVATE_KEY: Final = Format(
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
    _format("API key", "sk-", r"sk-[\w\-]{20,250}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse, LiteLLM, ...
    _format("Cerebras key", "csk-", r"csk-[a-z0-9]{40,60}"),
    _format("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _format("xAI key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _format("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{32,64}"),
    _format("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,40}"),
    _format("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37,40}"),
    _format("NVIDIA key", "nvapi-", r"nvapi-[\w\-]{60,80}"),
    _format("Fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,32}"),
    _format("Together key", "tgp_v1_", r"tgp_v1_[\w\-]{40,50}"),
    _format("Tavily key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{30,40}"),
    _format("LangSmith key", "lsv2_ ls__", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|ls__[0-9a-f]{32}"),
    _format("Pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,70}"),
    _format("Voyage key", "pa-", r"pa-[\w\-]{43}"),
    _format("Jina key", "jina_", r"jina_[0-9a-f]{32}[\w\-]{28}"),
    _format("LlamaCloud key", "llx-", r"llx-[A-Za-z0-9]{44,52}"),
    _format("ElevenLabs key", "sk_", r"sk_[0-9a-f]{48}"),
    _format("Firecrawl key", "fc-", r"fc-[0-9a-f]{32}"),
    _format("E2B key", "e2b_", r"e2b_[0-9a-f]{40}"),
    _format("RunPod key", "rpa_", r"rpa_[A-Z0-9]{38,50}"),
    _format("Modal token", "ak- as-", r"a[ks]-[A-Za-z0-9]{22}"),
    _format("Weights & Biases key", "wandb_v1_", r"wandb_v1_\w{60,90}"),
    # clouds
    _format("AWS key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", proof=True),
    _format("AWS Bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,200}={0,2}"),
    _format("AWS Bedrock key", "bedrock-api-key-", r"bedrock-api-key-[\w=]{40,2000}"),
    _format("Google key", "AIza", r"AIza[\w\-]{35}"),
    _format("Google key", "AQ.Ab", r"AQ\.Ab[\w\-]{40,80}"),
    _format("Google token", "ya29. 1//0", r"ya29\.[\w\-.]{30,2000}|1//0[\w\-]{40,200}"),
    _format("Google key", "GOCSPX-", r"GOCSPX-[\w\-]{28}"),
    _format("Azure secret", "Q~", r"[\w.~]{3}\dQ~[\w.~\-]{31,34}"),
    _format("Azure key", "JQQJ9", r"[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{20,32}"),
    _format("Azure key", "AccountKey= AccessKey=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{43,86}={1,2}"),
    _format(
        "Azure key",
        "APIM ACDb +ABa +AMC +ASt AzFu AzSe AzCa",
        r"[A-Za-z0-9+/]{33,80}(?:APIM|ACDb|\+ABa|\+AMC|\+ASt|AzFu|AzSe|AzCa)[A-Za-z0-9+/]{5,6}(?:[AQgw]==|=)",
    ),
    _format("Azure DevOps token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    _format("Alibaba key", "LTAI", r"LTAI[A-Za-z0-9]{20}"),
    _format("Tencent key", "AKID", r"AKID[A-Za-z0-9]{32}"),
    _format("Yandex key", "AQVN", r"AQVN[\w\-]{35,38}"),
    _format("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _format("Cloudflare key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _format("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _format("Heroku key", "HRKU-", r"HRKU-[\w\-]{36,64}"),
    _format("Fly token", "fo1_ fm1 fm2_", r"fo1_[\w\-]{43}|fm(?:1[ar]?|2)_[A-Za-z0-9+/=]{80,2000}"),
    _format("Render key", "rnd_", r"rnd_[A-Za-z0-9]{28,40}"),
    _format("Netlify token", "nfp_ nfc_", r"nf[pc]_[A-Za-z0-9]{36}"),
    _format("Supabase key", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[\w\-]{30,48}"),
    _format("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=\-]{32,64}"),
    _format("Neon key", "napi_", r"napi_[a-z0-9]{64}"),
    # code, packages, infrastructure
    _format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _format("GitHub token", "github_pat_", r"github_pat_\w{36,255}"),
    _format(
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent- glffct-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent|ffct)-[\w\-.]{20,300}",
    ),
    _format("Bitbucket token", "ATBB ATCTT3", r"ATBB[A-Za-z0-9]{32}|ATCTT3[\w\-=]{60,250}"),
    _format("Atlassian token", "ATATT3", r"ATATT3[\w\-=]{60,250}"),
    _format("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _format("PyPI token", "pypi-", r"pypi-[\w\-]{50,400}"),
    _format("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _format("crates.io token", "cio", r"cio[A-Za-z0-9]{32}"),
    _format("NuGet key", "oy2", r"oy2[a-z0-9]{43}"),
    _format("Docker token", "dckr_", r"dckr_(?:pat|oat)_[\w\-]{27,40}"),
    _format("Artifactory key", "AKCp cmVmd", r"AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}"),
    _format("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w\-]{24,300}"),
    _format("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{60,70}"),
    _format("Doppler token", "dp.", r"dp\.(?:st|pt|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _format("Pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    _format("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _format("1Password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{200,4000}={0,3}"),
    _format("CircleCI token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _format("Buildkite token", "bkua_", r"bkua_[0-9a-f]{40}"),
    _format("Tailscale key", "tskey-", r"tskey-[a-z]{3,8}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}"),
    _format("Sourcegraph token", "sgp_", r"sgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}"),
    _format("SonarQube token", "sqp_ squ_ sqa_", r"sq[pua]_[0-9a-f]{40}"),
    _format("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    # watching
    _format("Grafana token", "glc_ glsa_", r"glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    _format("Sentry token", "sntrys_ sntryu_", r"sntrys_eyJ[\w+/=\-]{60,400}|sntryu_[0-9a-f]{64}"),
    _format("New Relic key", "NRAK- NRII- NRJS- NRRA-", r"NR(?:AK|II|JS|RA)-[\w\-]{19,42}"),
    _format("New Relic key", "NRAL", r"[0-9a-f]{36}NRAL"),
    _format("PostHog key", "phx_", r"phx_[A-Za-z0-9]{40,60}"),
    _format("Dynatrace token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    # payment, mail, chat, office
    _format("Stripe key", "k_live_ k_test_ k_prod_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,250}"),
    _format("signing secret of a web hook", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,80}"),
    _format("Square token", "sq0", r"sq0(?:atp|csp|idp)-[\w\-]{22,43}"),
    _format("Braintree token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _format("Plaid token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _format("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _format("SendGrid key", "SG.", r"SG\.[\w\-]{16,32}\.[\w\-]{32,64}"),
    _format("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _format("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _format("Brevo key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _format("Resend key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}"),
    _format("Slack token", "xox", r"xox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9]{1,13}-[A-Za-z0-9\-]{20,250}", proof=True),
    _format("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]{5,20}-\d{8,16}-[0-9a-f]{16,80}", proof=True),
    _format(
        "web hook",
        "hooks.slack.com",
        r"hooks\.slack\.com/[a-z]{5,12}/[A-Z0-9]{5,20}/[\w\-/]{20,80}",
    ),
    _format("web hook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{16,21}/[\w\-]{50,90}"),
    _format(
        "web hook",
        "webhookb2/",
        rf"webhookb2/{_UUID}@{_UUID}/IncomingWebhook/[0-9a-f]{{32}}/{_UUID}",
    ),
    _format("Discord token", ".", r"[MNO][A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,38}"),
    _format("bot token", ":AA", r"\d{8,10}:AA[\w\-]{32,34}"),  # Telegram
    _format("Facebook token", "EAA", r"EAA[A-Za-z0-9]{60,400}"),
    _format("Notion token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}"),
    _format("Linear key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    _format("Figma token", "figd_ figo_ figor_ figoh_", r"fig(?:d|o|or|oh)_[\w\-]{38,60}"),
    _format("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _format("Asana token", "/", r"[12]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32}", proof=True),
    _format("HubSpot token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    _format("Contentful token", "CFPAT-", r"CFPAT-[\w\-]{43}"),
    _format("Typeform token", "tfp_", r"tfp_[\w.=\-]{44,70}"),
    _format("Dropbox token", "sl.", r"sl\.[\w\-.]{130,1500}"),
    _format("Mapbox token", "sk.eyJ", r"sk\.eyJ[\w\-]{40,200}\.[\w\-]{20,24}"),
    _format("JSON web token", "eyJ", r"eyJ[\w\-]{10,2000}\.eyJ[\w\-]{8,8000}\.[\w\-]{20,1500}"),
)
"""All of them; a private key comes first, as other formats may stand inside of it."""
