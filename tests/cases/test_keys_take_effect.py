"""Every key of the case file reaches what it is for: its value is changed, and the difference is seen.

Keys are found in the JSON Schema of the case file, which `test_case_schema` holds equal to the checker; a key without an
entry in `KEYS` fails.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from functools import partial

import pytest

from pytest_extract import Extensions, compile_schema, extend
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.model import Case, case_file_schema
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.output_shape import SHAPES
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
DATASET = {"dataset": "one.jsonl"}


# --- what is seen of a case


def collected(case):
    """What pytest collects: ids and marks."""
    return [(each.id, each.marks) for each in case]


def given(case):
    """What an extractor is given."""
    return [(each.document.text, each.question, str(each.prompt), json.dumps(each.schema)) for each in case]


def results(case, output=OUTPUT):
    """The results as written, without times."""
    found = []
    for each in case:
        result = run_case(
            each,
            lambda _index: Extraction(output, cost_usd=0.5, latency_s=9.0),
            nodeid=each.id,
            file="a.extract.yaml",
            today=date(2026, 6, 15),
        )
        found.append(dump_result(dataclasses.replace(result, duration_s=0.0)))
    return found


def scores(case, output=OUTPUT):
    """Measures and leaf results only: what the scorer was told."""
    read = [json.loads(line)["attempts"][0]["score"] for line in results(case, output)]
    return [(each["measures"], each["fields"], each["leaves"], each["gates"]) for each in read]


def scores_of_fenced(case):
    """Measures and leaf results of an output in a fence."""
    return scores(case, f"```json\n{json.dumps(OUTPUT)}\n```")


def breaches(case, output=OUTPUT):
    """The bounds that are missed."""
    read = [json.loads(line) for line in results(case, output)]
    return [(each["breaches"], [attempt["breaches"] for attempt in each["attempts"]]) for each in read]


def outcomes(case):
    """How often the case ran and had to pass."""
    read = [json.loads(line) for line in results(case)]
    return [(len(each["attempts"]), each["needed"]) for each in read]


def of_nothing(case):
    """The bounds that an output without any JSON misses."""
    return breaches(case, "no idea")


def of_extra(case):
    """Scores of an output with a key and a leaf too many."""
    return scores(case, {**OUTPUT, "extra": 1, "note": ""})


def of_null(case):
    return scores(case, {**OUTPUT, "note": None, "name": None})


def of_right_but_name(case):
    return breaches(case, {**GOLD, "name": "acme"})


KNOWN = {"path": "name"}
MOSTLY = {"semantics": "extract-bench", "gold": {"name": "Acme", "extra": [1, 2]}}
"""A gold that is mostly compared with nothing."""
WRAPPED = {"total": {"v": 100, "value": 1, "confidence": 0.9, "c": 0.8, "q": ["Sum"], "citations": ["Total"]}}
BESIDE = {
    "data": {"total": 100},
    "rest": {"total": 3},
    "p": {"total": 0.5},
    "q": {"total": {"page": 0, "box": [0, 0, 1, 1]}},
}


def of_wrapped(case):
    return scores(case, WRAPPED)


def of_beside(case):
    return scores(case, BESIDE)


def of_accepted(case):
    return results([dataclasses.replace(each, confidence=SHAPES["wrapper"]) for each in case], WRAPPED)


def cited(case):
    """Measures of an output with a citation."""
    citations = {"total": [{"page": 1, "quote": "100", "box": [0, 0, 1, 1]}]}
    found = [run_case(each, lambda _: Extraction(OUTPUT, citations=citations), nodeid="n", file="f") for each in case]
    return [each.attempts[0].score.measures for each in found]


POST = {"name": "reclassify_nulls", "absent_values": ["acme"]}
KEYS = {
    # key: (what is seen, the keys of one case file, those of the other)
    "cases": (collected, {"cases": [BASE]}, {"cases": [BASE, {**BASE, "id": "second"}]}),
    "dataset": (collected, {"cases": [BASE]}, DATASET),
    "defaults": (results, {}, {"defaults": {"tags": {"supplier": "acme"}}}),
    "document": (given, {"text": None, "document": "a.txt"}, {"text": None, "document": "b.txt"}),
    "documents": (collected, {"text": None, "documents": "a.tx?"}, {"text": None, "documents": ["a.txt", "b.*"]}),
    "text": (given, {}, {"text": "Another invoice"}),
    "schema": (scores, {}, {"schema": {"type": "object"}}),
    "gold": (scores, {}, {"gold": OUTPUT}),
    "id": (collected, {}, {"id": "acme"}),
    "question": (given, {}, {"question": "What was billed?"}),
    "prompt": (given, {}, {"prompt": "prompt.md"}),
    "semantics": (scores, {"semantics": "default"}, {"semantics": "extract-bench"}),
    "nulls": (of_null, {"nulls": "absent"}, {"nulls": "value"}),
    "modality": (of_extra, {"modality": "text"}, {"modality": "image"}),
    "marks": (collected, {}, {"marks": ["slow"]}),
    "tags": (results, {}, {"tags": {"supplier": "acme"}}),
    "variants.without": (
        collected,
        {"text": "Acme 1", "variants": [{"without": "name"}]},
        {"text": "Acme 1", "variants": [{"without": ["name", "total"]}]},
    ),
    "variants.decimal": (given, {"text": "100.0"}, {"text": "100.0", "variants": [{"decimal": "comma"}]}),
    "variants.dates": (collected, {}, {"variants": [{"dates": "day-first"}]}),
    "variants.pages": (collected, {}, {"variants": [{"pages": "shuffled"}]}),
    "variants.scan": (collected, {"variants": [{"scan": "72dpi"}]}, {"variants": [{"scan": "150dpi"}]}),
    "variants": (collected, {}, {"text": "Acme", "variants": [{"without": "name"}]}),
    "evidence": (cited, {}, {"evidence": {"total": [{"page": 2}]}}),
    "evidence.page": (cited, {"evidence": {"total": [{"page": 1}]}}, {"evidence": {"total": [{"page": 2}]}}),
    "evidence.box": (
        cited,
        {"evidence": {"total": [{"page": 1, "box": [0, 0, 1, 1]}]}},
        {"evidence": {"total": [{"page": 1, "box": [0.5, 0.5, 0.6, 0.6]}]}},
    ),
    "origin": (results, {}, {"origin": "correction"}),
    "repeat": (outcomes, {}, {"repeat": 2}),
    "repeat.of": (outcomes, {"repeat": {"of": 2, "pass": 2}}, {"repeat": {"of": 3, "pass": 2}}),
    "repeat.pass": (outcomes, {"repeat": {"of": 3, "pass": 1}}, {"repeat": {"of": 3, "pass": 2}}),
    "accept": (scores, {}, {"accept": {"name": ["acme"]}}),
    "absent": (of_extra, {}, {"absent": {"note": "either"}}),
    "known_failures": (of_right_but_name, {}, {"known_failures": [KNOWN]}),
    "known_failures.path": (of_right_but_name, {"known_failures": [KNOWN]}, {"known_failures": [{"path": "total"}]}),
    "known_failures.until": (
        of_right_but_name,
        {"known_failures": [{**KNOWN, "until": "2026-12-31"}]},
        {"known_failures": [{**KNOWN, "until": "2026-01-31"}]},
    ),
    "known_failures.reason": (
        breaches,
        {"known_failures": [{**KNOWN, "until": "2026-01-31", "reason": "a scan"}]},
        {"known_failures": [{**KNOWN, "until": "2026-01-31", "reason": "a fax"}]},
    ),
    "gates": (of_extra, {}, {"gates": {"coverage": False}}),
    "gates.grounded": (breaches, {}, {"gates": {"grounded": True}}),
    "gates.grounded.fields": (
        breaches,
        {"gates": {"grounded": {"fields": ["name"]}}},
        {"gates": {"grounded": {"fields": ["total"]}}},
    ),
    "gates.bare": (scores_of_fenced, {}, {"gates": {"bare": True}}),
    "max_output_bytes": (scores_of_fenced, {}, {"max_output_bytes": 20}),
    "gates.schema": (
        scores,
        {"schema": {**SCHEMA, "required": ["note"]}},
        {"schema": {**SCHEMA, "required": ["note"]}, "gates": {"schema": False}},
    ),
    "gates.rules": (breaches, {"rules": ["total == 100"]}, {"rules": ["total == 100"], "gates": {"rules": False}}),
    "gates.coverage": (of_extra, {}, {"gates": {"coverage": False}}),
    "gates.coverage.mode": (
        of_extra,
        {"gates": {"coverage": {"mode": "hard"}}},
        {"gates": {"coverage": {"mode": "soft"}}},
    ),
    "gates.coverage.floor": (
        of_extra,
        {"gates": {"coverage": {"floor": 0.9}}},
        {"gates": {"coverage": {"floor": 0.1}}},
    ),
    "auto_accept": (of_accepted, {}, {"auto_accept": {"confidence": 0.5}}),
    "auto_accept.confidence": (
        of_accepted,
        {"auto_accept": {"confidence": 0.5}},
        {"auto_accept": {"confidence": 0.95}},
    ),
    "auto_accept.precision": (
        of_accepted,
        {"auto_accept": {"confidence": 0.5}},
        {"auto_accept": {"confidence": 0.5, "precision": 0.9}},
    ),
    "auto_accept.fields": (
        of_accepted,
        {"auto_accept": {"confidence": 0.5}},
        {"auto_accept": {"confidence": 0.5, "fields": {"total": 0.95}}},
    ),
    "confidence": (of_wrapped, {}, {"confidence": "wrapper"}),
    "confidence.values": (
        of_beside,
        {"confidence": {"values": "data", "confidence": "p.{path}"}},
        {"confidence": {"values": "rest", "confidence": "p.{path}"}},
    ),
    "confidence.wrapper": (of_wrapped, {}, {"confidence": {"wrapper": {}}}),
    "confidence.wrapper.value": (
        of_wrapped,
        {"confidence": {"wrapper": {}}},
        {"confidence": {"wrapper": {"value": "v"}}},
    ),
    "confidence.wrapper.confidence": (
        of_wrapped,
        {"confidence": {"wrapper": {}}},
        {"confidence": {"wrapper": {"confidence": "c"}}},
    ),
    "confidence.wrapper.citations": (
        of_wrapped,
        {"confidence": {"wrapper": {}}},
        {"confidence": {"wrapper": {"citations": "q"}}},
    ),
    "confidence.confidence": (
        of_beside,
        {"confidence": {"values": "data", "citations": "q.{path}"}},
        {"confidence": {"values": "data", "citations": "q.{path}", "confidence": "p.{path}"}},
    ),
    "confidence.citations": (
        of_beside,
        {"confidence": {"values": "data", "confidence": "p.{path}"}},
        {"confidence": {"values": "data", "citations": "q.{path}", "confidence": "p.{path}"}},
    ),
    "confidence.scale": (
        of_beside,
        {"confidence": {"values": "data", "confidence": "p.{path}"}},
        {"confidence": {"values": "data", "confidence": "p.{path}", "scale": 2}},
    ),
    "confidence.first_page": (
        of_beside,
        {"confidence": {"values": "data", "citations": "q.{path}"}},
        {"confidence": {"values": "data", "citations": "q.{path}", "first_page": 0}},
    ),
    "confidence.unit": (
        of_beside,
        {"confidence": {"values": "data", "citations": "q.{path}"}},
        {"confidence": {"values": "data", "citations": "q.{path}", "unit": "inch"}},
    ),
    "thresholds": (breaches, {}, {"thresholds": {"pass_rate": 0}}),
    "thresholds.fields": (breaches, {}, {"thresholds": {"fields": {"name": 1.0}}}),
    "thresholds.measures": (breaches, {}, {"thresholds": {"measures": {"own": 1.0}}}),
    "thresholds.max_cost_usd": (breaches, {}, {"thresholds": {"max_cost_usd": 0.1}}),
    "thresholds.max_latency_s": (breaches, {}, {"thresholds": {"max_latency_s": 1}}),
    **{f"thresholds.{name}": (of_nothing, {"thresholds": {name: 0}}, {"thresholds": {name: 1}}) for name in MEASURES},
    "overrides": (scores, {}, {"overrides": {"name": "skip"}}),
    "overrides.metric": (scores, {}, {"overrides": {"name": {"metric": "string_fuzzy"}}}),
    "overrides.metrics": (scores, {}, {"overrides": {"name": {"metrics": [{"metric_id": "string_fuzzy"}]}}}),
    "overrides.params": (
        scores,
        {"overrides": {"total": {"metric": "number_tolerance", "params": {"tolerance": 0.1}}}},
        {"overrides": {"total": {"metric": "number_tolerance", "params": {"tolerance": 0.0001}}}},
    ),
    "overrides.weight": (scores, {}, {"overrides": {"name": {"weight": 5}}}),
    "overrides.align": (scores, {}, {"overrides": {"items": {"align": "position"}}}),
    "overrides.key": (
        scores,
        {"overrides": {"items": {"align": "key", "key": "sku"}}},
        {"overrides": {"items": {"align": "key", "key": "qty"}}},
    ),
    "overrides.key_cutoff": (
        scores,
        {"overrides": {"items": {"align": "key", "key": "sku"}}},
        {"overrides": {"items": {"align": "key", "key": "sku", "key_cutoff": 0.4}}},
    ),
    "overrides.transform": (
        scores,
        {"overrides": {"name": {"metric": "string_exact"}}},
        {"overrides": {"name": {"metric": "string_exact", "transform": ["lowercase"]}}},
    ),
    "overrides.threshold": (
        scores,
        {"overrides": {"items[].sku": {"metric": "fuzzy", "threshold": 0.1}}},
        {"overrides": {"items[].sku": {"metric": "fuzzy", "threshold": 0.99}}},
    ),
    "overrides.skip": (scores, {}, {"overrides": {"name": {"skip": True}}}),
    "overrides.nulls": (
        of_null,
        {"overrides": {"$": {"nulls": "absent"}}},
        {"overrides": {"$": {"nulls": "value"}}},
    ),
    "overrides.post": (scores, {}, {"overrides": {"$": {"post": POST}}}),
    "rules": (breaches, {}, {"rules": ["total == 100"]}),
    "rules.rule": (breaches, {"rules": [{"rule": "total == 100"}]}, {"rules": [{"rule": "total >= 100"}]}),
    "rules.name": (breaches, {"rules": [{"rule": "total == 100"}]}, {"rules": [{"rule": "total == 100", "name": "t"}]}),
    "rules.each": (
        breaches,
        {"rules": [{"rule": "sum($.items[].qty) == 3"}]},
        {"rules": [{"rule": "sku != 'aa'", "each": "items[]"}]},
    ),
    "rules.rel": (breaches, {"rules": [{"rule": "total == 100"}]}, {"rules": [{"rule": "total == 100", "rel": 0.01}]}),
    "rules.abs": (breaches, {"rules": [{"rule": "total == 100"}]}, {"rules": [{"rule": "total == 100", "abs": 0.1}]}),
    "rules.severity": (
        breaches,
        {"rules": [{"rule": "total == 100"}]},
        {"rules": [{"rule": "total == 100", "severity": "warning"}]},
    ),
    "post_process": (scores, {}, {"post_process": POST}),
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
POST_NAME = {"post_process.name"}
"""Part of the value of `post_process`, not a key of its own: without it nothing is named."""


def load(folder, keys):
    (folder / "a.txt").write_text("Document A", encoding="utf-8")
    (folder / "b.txt").write_text("Document B", encoding="utf-8")
    (folder / "prompt.md").write_text("Extract.", encoding="utf-8")
    (folder / "one.jsonl").write_text(json.dumps({**BASE, "id": "from a dataset"}), encoding="utf-8")
    raw = keys if keys.keys() & {"cases", "dataset"} else {**BASE, **keys}
    path = folder / "a.extract.yaml"
    path.write_text(json.dumps({key: value for key, value in raw.items() if value is not None}), encoding="utf-8")
    loaded = load_cases(path, SchemaCache(partial(compile_schema, extensions=OWN)))
    assert loaded.errors == () or keys.get("uncompared") == "refuse"
    return loaded.cases


def test_every_key_has_an_entry():
    assert keys_of(SCHEMA_OF_CASES, SCHEMA_OF_CASES) - POST_NAME == KEYS.keys()


@pytest.mark.parametrize("key", KEYS)
def test_a_changed_key_is_seen(tmp_path, key):
    seen, one, other = KEYS[key]
    first = seen(load(tmp_path, one))
    assert first == seen(load(tmp_path, one))
    assert first != seen(load(tmp_path, other))


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
        (case,) = load(tmp_path, keys)
        result = run_case(case, lambda _index: Extraction(OUTPUT), nodeid="n", file="f")
        assert getattr(result, key) == getattr(case, key)
        shown.append(getattr(load_result(dump_result(result)), key))
    assert shown[0] != shown[1]
