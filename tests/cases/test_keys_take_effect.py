"""Every key of the case file reaches what it is for: its value is changed, and the difference is seen.

Keys are found in the JSON Schema of the case file, which says the same as the checker; a key without an entry in `KEYS`
fails.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from functools import partial

import jsonschema
import pytest

from pytest_extract import Extensions, compile_schema, extend
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import FILE_KEYS, LIMITS, Case, case_file_schema, case_keys, renewed_schema
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.gates import COVERAGE_MODES, MODALITIES
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.output_shape import SHAPES, UNITS
from pytest_extract.core.rules import RULE_KEYS
from pytest_extract.core.schema.annotations import parse_override
from pytest_extract.core.semantics import SEMANTICS
from pytest_extract.extraction.call import Extraction
from pytest_extract.results import dump_result, load_result
from pytest_extract.run_case import run_case

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "total": {"type": "number"},
        "note": {"type": ["string", "null"]},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
        },
    },
}
GOLD = {"name": "Acme", "total": 100, "note": None, "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]}
OUTPUT = {"name": "acme", "total": 100.05, "items": [{"sku": "b", "qty": 2}, {"sku": "aa", "qty": 1}]}
BASE = {"text": "Invoice", "schema": SCHEMA, "gold": GOLD}


# --- what is seen of a case


def collected(cases):
    """What pytest collects: ids and marks."""
    return [(case.id, case.marks) for case in cases]


def given(cases):
    """What an extractor is given."""
    return [(case.document.text, case.question, str(case.prompt), json.dumps(case.schema)) for case in cases]


def results(cases, output=OUTPUT):
    """The results as written, without times."""
    found = []
    for case in cases:
        extraction = Extraction(output, cost_usd=0.5, latency_s=9.0)
        result = run_case(case, lambda _, it=extraction: it, nodeid=case.id, file="f", today=date(2026, 6, 15))
        found.append(dump_result(dataclasses.replace(result, duration_s=0.0)))
    return found


def scores(cases, output=OUTPUT):
    """Measures and leaf results only: what the scorer was told."""
    read = [json.loads(line)["attempts"][0]["score"] for line in results(cases, output)]
    return [(each["measures"], each["fields"], each["leaves"], each["gates"]) for each in read]


def breaches(cases, output=OUTPUT):
    """The bounds that are missed."""
    read = [json.loads(line) for line in results(cases, output)]
    return [(each["breaches"], [attempt["breaches"] for attempt in each["attempts"]]) for each in read]


def outcomes(cases):
    """How often the case ran and had to pass."""
    read = [json.loads(line) for line in results(cases)]
    return [(len(each["attempts"]), each["needed"]) for each in read]


def cited(cases):
    """Measures of an output with a citation."""
    citations = {"total": [{"page": 1, "quote": "100", "box": [0, 0, 1, 1]}]}
    found = [run_case(each, lambda _: Extraction(OUTPUT, citations=citations), nodeid="n", file="f") for each in cases]
    return [each.attempts[0].score.measures for each in found]


WRAPPED = {"total": {"v": 100, "value": 1, "confidence": 0.9, "c": 0.8, "q": ["Sum"], "citations": ["Total"]}}
BESIDE = {
    "data": {"total": 100},
    "rest": {"total": 3},
    "p": {"total": 0.5},
    "q": {"total": {"page": 0, "box": [0, 0, 1, 1]}},
}
of_fenced = partial(scores, output=f"```json\n{json.dumps(OUTPUT)}\n```")
of_nothing = partial(breaches, output="no idea")
of_extra = partial(scores, output={**OUTPUT, "extra": 1, "note": ""})
of_null = partial(scores, output={**OUTPUT, "note": None, "name": None})
of_right_but_name = partial(breaches, output={**GOLD, "name": "acme"})
of_wrapped = partial(scores, output=WRAPPED)
of_beside = partial(scores, output=BESIDE)


def of_accepted(cases):
    return results([dataclasses.replace(case, confidence=SHAPES["wrapper"]) for case in cases], WRAPPED)


# --- a value of every key, and another


def under(way, **keys):
    """Return keys with these below a dotted way: `under("gates.coverage", mode="soft")`."""
    for name in reversed(way.split(".")):
        keys = {name: keys}
    return keys


beside = partial(under, "confidence", values="data")
accepting = partial(under, "auto_accept", confidence=0.5)
wrapper = partial(under, "confidence.wrapper")


def rule(text="total == 100", **keys):
    return {"rules": [{"rule": text, **keys}]}


def known_failure(**keys):
    return {"known_failures": [{"path": "name", **keys}]}


def evidence(**keys):
    return {"evidence": {"total": [{"page": 1, **keys}]}}


def variant(text="Invoice", **keys):
    return {"text": text, "variants": [keys]}


CONFIDENT, CITING = {"confidence": "p.{path}"}, {"citations": "q.{path}"}
POST = {"name": "reclassify_nulls", "absent_values": ["acme"]}
MOSTLY = {"semantics": "extract-bench", "gold": {"name": "Acme", "extra": [1, 2]}}
"""A gold that is mostly compared with nothing."""
REQUIRED = {"schema": {**SCHEMA, "required": ["note"]}}
KEYS = {
    # key: (what is seen, the keys of one case file, those of the other)
    "cases": (collected, {"cases": [BASE]}, {"cases": [BASE, {**BASE, "id": "second"}]}),
    "dataset": (collected, {"cases": [BASE]}, {"dataset": "one.jsonl", "defaults": {}}),
    "defaults": (results, {}, {"defaults": {"tags": {"supplier": "acme"}}}),
    "document": (given, {"text": None, "document": "a.txt"}, {"text": None, "document": "b.txt"}),
    "documents": (collected, {"text": None, "documents": "a.tx?"}, {"text": None, "documents": ["a.txt", "b.*"]}),
    "text": (given, {}, {"text": "Another invoice"}),
    "schema": (scores, {"schema": True, "gold": None}, {"schema": {"type": "object"}}),
    "gold": (scores, {}, {"gold": OUTPUT}),
    "id": (collected, {"id": 7}, {"id": "acme 1"}),
    "question": (given, {}, {"question": "What was billed?"}),
    "prompt": (given, {}, {"prompt": "prompt.md"}),
    "semantics": (scores, {"semantics": "default"}, {"semantics": "extract-bench"}),
    "nulls": (of_null, {"nulls": "absent"}, {"nulls": "value"}),
    "modality": (of_extra, {"modality": "text"}, {"modality": "image"}),
    "marks": (collected, {"marks": "slow"}, {"marks": ["slow", "xfail(reason='x')"]}),
    "tags": (results, {}, {"tags": {"supplier": "acme", "n": 1.5, "ok": True}}),
    "variants": (collected, {}, variant("Acme", without="name")),
    "variants.without": (collected, variant("Acme 1", without="name"), variant("Acme 1", without=["name", "total"])),
    "variants.decimal": (given, {"text": "100.0"}, variant("100.0", decimal="comma")),
    "variants.dates": (collected, {}, variant(dates="day-first")),
    "variants.pages": (collected, {}, variant(pages="shuffled")),
    "variants.scan": (collected, variant(scan="72dpi"), variant(scan="150dpi")),
    "evidence": (cited, {}, evidence(page=2)),
    "evidence.page": (cited, evidence(), evidence(page=2)),
    "evidence.box": (cited, evidence(box=[0, 0, 1, 1]), evidence(box=[0.5, 0.5, 0.6, 0.6])),
    "origin": (results, {}, {"origin": "correction"}),
    "repeat": (outcomes, {}, {"repeat": 2}),
    "repeat.of": (outcomes, {"repeat": {"of": 2, "pass": 2}}, {"repeat": {"of": 3, "pass": 2}}),
    "repeat.pass": (outcomes, {"repeat": {"of": 3, "pass": 1}}, {"repeat": {"of": 3}}),
    "accept": (scores, {}, {"accept": {"name": ["acme", None]}}),
    "absent": (of_extra, {}, {"absent": {"note": "either"}}),
    "known_failures": (of_right_but_name, {}, known_failure()),
    "known_failures.path": (of_right_but_name, known_failure(), known_failure(path="total")),
    "known_failures.until": (of_right_but_name, known_failure(until="2026-12-31"), known_failure(until="2026-01-31")),
    "known_failures.reason": (breaches, *(known_failure(until="2026-01-31", reason=text) for text in ("scan", "fax"))),
    "gates": (of_extra, {}, {"gates": {"coverage": False}}),
    "gates.grounded": (breaches, {}, {"gates": {"grounded": True}}),
    "gates.grounded.fields": (breaches, *(under("gates.grounded", fields=[name]) for name in ("name", "total"))),
    "gates.bare": (of_fenced, {}, {"gates": {"bare": True}}),
    "gates.schema": (scores, REQUIRED, {**REQUIRED, "gates": {"schema": False}}),
    "gates.rules": (breaches, rule(), {**rule(), "gates": {"rules": False}}),
    "gates.coverage": (of_extra, {}, {"gates": {"coverage": False}}),
    "gates.coverage.mode": (of_extra, under("gates.coverage", mode="hard"), under("gates.coverage", mode="soft")),
    "gates.coverage.floor": (of_extra, under("gates.coverage", floor=0.9), under("gates.coverage", floor=0.1)),
    "max_output_bytes": (of_fenced, {}, {"max_output_bytes": 20}),
    "auto_accept": (of_accepted, {}, accepting()),
    "auto_accept.confidence": (of_accepted, accepting(), accepting(confidence=0.95)),
    "auto_accept.precision": (of_accepted, accepting(), accepting(precision=0.9)),
    "auto_accept.fields": (of_accepted, accepting(), accepting(fields={"total": 0.95})),
    "confidence": (of_wrapped, {}, {"confidence": "wrapper"}),
    "confidence.values": (of_beside, beside(**CONFIDENT), beside(values="rest", **CONFIDENT)),
    "confidence.wrapper": (of_wrapped, {}, wrapper()),
    "confidence.wrapper.value": (of_wrapped, wrapper(), wrapper(value="v")),
    "confidence.wrapper.confidence": (of_wrapped, wrapper(), wrapper(confidence="c")),
    "confidence.wrapper.citations": (of_wrapped, wrapper(), wrapper(citations="q")),
    "confidence.confidence": (of_beside, beside(**CITING), beside(**CITING, **CONFIDENT)),
    "confidence.citations": (of_beside, beside(**CONFIDENT), beside(**CITING, **CONFIDENT)),
    "confidence.scale": (of_beside, beside(**CONFIDENT), beside(**CONFIDENT, scale=2)),
    "confidence.first_page": (of_beside, beside(**CITING), beside(**CITING, first_page=0)),
    "confidence.unit": (of_beside, beside(**CITING), beside(**CITING, unit="inch")),
    "thresholds": (breaches, {}, {"thresholds": {"pass_rate": 0}}),
    "thresholds.fields": (breaches, {}, {"thresholds": {"fields": {"name": 1.0}}}),
    "thresholds.measures": (breaches, {}, {"thresholds": {"measures": {"own": 1.0}}}),
    "thresholds.max_cost_usd": (breaches, {}, {"thresholds": {"max_cost_usd": 0.1}}),
    "thresholds.max_latency_s": (breaches, {}, {"thresholds": {"max_latency_s": 1}}),
    **{f"thresholds.{name}": (of_nothing, {"thresholds": {name: 0}}, {"thresholds": {name: 1}}) for name in MEASURES},
    "overrides": (scores, {}, {"overrides": {"name": "skip"}}),
    "overrides.metric": (scores, {}, under("overrides.name", metric="string_fuzzy")),
    "overrides.metrics": (scores, {}, under("overrides.name", metrics=[{"metric_id": "string_fuzzy"}])),
    "overrides.params": (
        scores,
        under("overrides.total", metric="number_tolerance", params={"tolerance": 0.1}),
        under("overrides.total", metric="number_tolerance", params={"tolerance": 0.0001}),
    ),
    "overrides.weight": (scores, {}, under("overrides.name", weight=5)),
    "overrides.align": (scores, {}, under("overrides.items", align="position")),
    "overrides.key": (
        scores,
        under("overrides.items", align="key", key="sku"),
        under("overrides.items", align="key", key="qty"),
    ),
    "overrides.key_cutoff": (
        scores,
        under("overrides.items", align="key", key="sku"),
        under("overrides.items", align="key", key="sku", key_cutoff=0.4),
    ),
    "overrides.transform": (
        scores,
        under("overrides.name", metric="string_exact"),
        under("overrides.name", metric="string_exact", transform=["lowercase"]),
    ),
    "overrides.threshold": (
        scores,
        *({"overrides": {"items[].sku": {"metric": "fuzzy", "threshold": lowest}}} for lowest in (0.1, 0.99)),
    ),
    "overrides.skip": (scores, {}, under("overrides.name", skip=True)),
    "overrides.nulls": (of_null, under("overrides.$", nulls="absent"), under("overrides.$", nulls="value")),
    "overrides.post": (scores, {}, under("overrides.$", post=POST)),
    "rules": (breaches, {}, {"rules": ["total == 100"]}),
    "rules.rule": (breaches, rule(), rule("total >= 100")),
    "rules.each": (breaches, rule("sum($.items[].qty) == 3"), rule("sku != 'aa'", each="items[]")),
    "rules.rel": (breaches, rule(), rule(rel=0.01)),
    "rules.abs": (breaches, rule(), rule(abs=0.1)),
    "post_process": (scores, {"post_process": "propagate_batch_errors"}, {"post_process": [POST]}),
    "uncompared": (collected, {**MOSTLY, "uncompared": "allow"}, {**MOSTLY, "uncompared": "refuse"}),
}


def keys_of(schema, node, prefix=""):
    """Return every fixed key below a node of the JSON Schema, dotted; lists and free names add no step of their own."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    found = set()
    for name, child in node.get("properties", {}).items():
        path = f"{prefix}.{name}".removeprefix(".")
        found |= {path} | (set() if path in ("cases", "defaults") else keys_of(schema, child, path))
    further = [*node.get("anyOf", []), node.get("items"), node.get("additionalProperties")]
    return found.union(*(keys_of(schema, child, prefix) for child in further if isinstance(child, dict)))


@extend.measure()
def own(gold, extracted):
    return 0.5


OWN = Extensions.of(own)
SCHEMA_OF_CASES = json.loads(case_file_schema())
DESCRIBED = jsonschema.Draft202012Validator(SCHEMA_OF_CASES)
POST_NAME = {"post_process.name"}
"""Part of the value of `post_process`, not a key of its own: without it nothing is named."""


def load_keys(folder, keys):
    (folder / "a.txt").write_text("Document A", encoding="utf-8")
    (folder / "b.txt").write_text("Document B", encoding="utf-8")
    (folder / "prompt.md").write_text("Extract.", encoding="utf-8")
    (folder / "one.jsonl").write_text(json.dumps({**BASE, "id": "from a dataset"}), encoding="utf-8")
    raw = keys if keys.keys() & {"cases", "dataset"} else {**BASE, **keys}
    raw = {key: value for key, value in raw.items() if value is not None or key == "gold"}
    DESCRIBED.validate(raw)
    path = folder / "a.extract.yaml"
    path.write_text(json.dumps(raw), encoding="utf-8")
    loaded = load_cases(path, SchemaCache(partial(compile_schema, extensions=OWN)))
    assert loaded.errors == () or keys.get("uncompared") == "refuse"
    return loaded.cases


def test_every_key_has_an_entry():
    assert keys_of(SCHEMA_OF_CASES, SCHEMA_OF_CASES) - POST_NAME == KEYS.keys()


@pytest.mark.parametrize("key", KEYS)
def test_a_changed_key_is_seen(tmp_path, key):
    seen, one, other = KEYS[key]
    first = seen(load_keys(tmp_path, one))
    assert first == seen(load_keys(tmp_path, one))
    assert first != seen(load_keys(tmp_path, other))


SHOWN = sorted(
    Case.__dataclass_fields__.keys() & CaseResult.__dataclass_fields__.keys() - {"uncompared", "draft", "altered"}
)
"""Keys that a result has a field for; of uncompared values it has the places only, `draft` is of the gold's review, and
`altered` says which of the cases of `variants` it is."""


@pytest.mark.parametrize("key", SHOWN)
def test_a_result_shows_the_keys_that_it_has_a_field_for(tmp_path, key):
    _, one, other = KEYS[key]
    shown = []
    for keys in (one, other):
        (case,) = load_keys(tmp_path, keys)
        result = run_case(case, lambda _index: Extraction(OUTPUT), nodeid="n", file="f")
        assert getattr(result, key) == getattr(case, key)
        shown.append(getattr(load_result(dump_result(result)), key))
    assert shown[0] != shown[1]


# --- the JSON Schema of the case file

DEFS = SCHEMA_OF_CASES["$defs"]


def test_it_is_a_json_schema_that_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA_OF_CASES)
    assert set(SCHEMA_OF_CASES["properties"]) == {*case_keys(), *FILE_KEYS}
    assert set(DEFS["case"]["properties"]) == set(case_keys())
    assert all("description" in DEFS[key] for key in case_keys())
    assert case_file_schema() == renewed_schema(), "after a change of a measure, `python -m pytest_extract.docs`"


def test_it_lists_the_checker_s_words():
    assert list(DEFS["semantics"]["enum"]) == list(SEMANTICS)
    assert tuple(DEFS["modality"]["enum"]) == MODALITIES
    assert tuple(DEFS["gates"]["properties"]["coverage"]["anyOf"][1]["properties"]["mode"]["enum"]) == COVERAGE_MODES
    assert list(DEFS["thresholds"]["properties"]) == [*MEASURES, "fields", "measures", *LIMITS]
    assert (tuple(DEFS["output_shape"]["enum"]), tuple(DEFS["unit"]["enum"])) == (tuple(SHAPES), tuple(UNITS))
    assert tuple(DEFS["rules"]["items"]["anyOf"][1]["properties"]) == tuple(RULE_KEYS)
    told: list[str] = []
    keys = DEFS["overrides"]["additionalProperties"]["anyOf"][1]["properties"]
    parse_override(dict.fromkeys(keys), "", lambda message, _where: told.append(message))
    assert not [message for message in told if message.startswith("no key ")]


WRONG = [
    {**BASE, "golf": 1},
    {**BASE, "id": "a\nb"},
    {**BASE, "schema": " "},
    {**BASE, "gold": ""},
    {**BASE, "known_failures": [{"path": "total", "until": "soon"}]},
    {**BASE, "gates": {"coverage": {"floor": 0}}},
    {**BASE, "uncompared": "yes"},
    {**BASE, "marks": [[1]]},
    {**BASE, "repeat": 1.5},
    {**BASE, "post_process": [{"absent_values": []}]},
    {**BASE, "document": "acme.txt"},
    {**BASE, "documents": "*.txt"},
    {"schema": SCHEMA, "gold": GOLD, "documents": []},
    {**BASE, "defaults": 1},
    {**BASE, "defaults": {"golf": 1}},
    {**BASE, "cases": [BASE]},
    {"cases": [BASE], "dataset": "a"},
    {"cases": []},
    {"cases": [1]},
    {"text": "x", "schema": {}},
    {},
    [],
]


@pytest.mark.parametrize("content", WRONG, ids=lambda content: str(content)[-30:])
def test_both_refuse_what_is_wrong(load, content):
    assert not DESCRIBED.is_valid(content)
    assert load(content).errors != ()
