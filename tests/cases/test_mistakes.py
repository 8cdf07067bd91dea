"""Every mistake is told with file, line, column, what was expected and the nearest right spelling.

In the table, `»` stands before the place that the error must name; it is taken out before the file is written.
"""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_extract.cases.edit import read_gold, update_gold
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache

SCHEMA = {
    "type": "object",
    "properties": {
        "vendor": {"type": "object", "properties": {"name": {"type": "string"}}},
        "po_number": {"type": ["string", "null"]},
        "total": {"type": "number"},
        "items": {
            "type": "array",
            "items": {"type": "object", "properties": {"price": {"type": "number"}, "tax": {"type": "number"}}},
        },
    },
}
GOLD = {"vendor": {"name": "ACME"}, "total": 1.5, "items": [{"price": 1.5, "tax": 0}]}
BASE = "document: acme.txt\nschema: invoice.schema.json\ngold: acme.gold.json\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acme.txt").write_text("Invoice", encoding="utf-8")
    (tmp_path / "invoice.schema.json").write_text(json.dumps(SCHEMA, indent=1), encoding="utf-8")
    (tmp_path / "acme.gold.json").write_text(json.dumps(GOLD, indent=1), encoding="utf-8")
    (tmp_path / "prompt.md").write_text("Extract.", encoding="utf-8")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "blank.jsonl").write_text("\ufeff\n \r\n\t\n", encoding="utf-8")
    return tmp_path


def _told(folder: Path, text: str, name: str = "acme.extract.yaml") -> list[tuple[str, int | None, int | None, str]]:
    (folder / name).write_text(text, encoding="utf-8")
    loaded = load_cases(folder / name, SchemaCache())
    return [(error.path.name, error.line, error.column, error.message) for error in loaded.errors]


def _marked(text: str) -> tuple[str, int, int]:
    before, _, after = text.partition("»")
    return before + after, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


MISTAKES: list[tuple[str, str, list[str]]] = [
    # id, file with », words of the message
    ("empty file", "»", ["a case file is a mapping", "an empty file"]),
    ("a list", "»- a\n", ["a case file is a mapping", "array"]),
    ("a text", "»hello\n", ["a case file is a mapping", "string"]),
    ("open bracket", BASE + "marks: [a\n»", ["not YAML"]),
    ("tab", BASE + "tags:\n»\ta: 1\n", ["not YAML"]),
    ("two documents", BASE + "»---\nid: b\n", ["a second YAML document begins"]),
    ("merge key", BASE + "tags: {»<<: {a: 1}}\n", ["merge keys", "`defaults:`"]),
    ("duplicate key", BASE + "»gold: b.json\n", ["duplicate key 'gold'"]),
    ("duplicate nested key", BASE + "tags: {a: 1, »a: 2}\n", ["duplicate key 'a'"]),
    ("yaml tag", BASE + "id: »!!binary aGk=\n", ["binary", "is no JSON type"]),
    ("unknown key", BASE + "»treshold: {}\n", ["unknown key 'treshold'", "did you mean 'thresholds'?"]),
    ("misspelt required key", BASE.replace("schema", "»shema", 1), ["unknown key 'shema'", "did you mean 'schema'?"]),
    ("nothing close", BASE + "»zzzzzz: 1\n", ["unknown key 'zzzzzz'", "known: absent, accept"]),
    ("no gold", "»document: acme.txt\nschema: invoice.schema.json\n", ["the case needs `gold`"]),
    ("no document", "»schema: invoice.schema.json\ngold: acme.gold.json\n", ["the case needs either `document` (a path), `documents` (a pattern) or `text`"]),
    ("nothing", "»id: acme\n", ["the case needs `schema` and `gold` and either `document` (a path), `documents` (a pattern) or `text`"]),
    ("url", BASE.replace("acme.txt", "»https://example.org/acme.pdf"), ["is a URL, and nothing is fetched"]),
    ("schema url", BASE.replace("invoice.schema.json", "»https://example.org/s.json#/a"), ["`schema` is a URL"]),
    ("documents absolute", BASE.replace("document: acme.txt", "documents: »/etc/*.conf"), ["a pattern relative to this file"]),
    ("documents none", BASE.replace("document: acme.txt", "documents: »docs/*.pdf"), ["no document matches 'docs/*.pdf'"]),
    ("documents a number", BASE.replace("document: acme.txt", "documents: »7"), ["`documents` must be a pattern relative to this file", "not 7"]),
    ("documents and text", BASE.replace("document", "documents") + "»text: hi\n", ["both `documents` and `text`"]),
    ("document and text", BASE + "»text: hi\n", ["both `document` and `text`"]),
    ("document gone", BASE.replace("acme.txt", "»acne.txt"), ["no file", "acne.txt", "did you mean 'acme.txt'?"]),
    ("document's folder gone", BASE.replace("acme.txt", "»docs/acme.txt"), ["no file", "there is no folder"]),
    ("document is a folder", BASE.replace("acme.txt", "»."), ["is a folder"]),
    ("document no text", BASE.replace("acme.txt", "»17"), ["`document` must be the path of a file, not 17"]),
    ("schema gone", BASE.replace("invoice.schema", "»invoise.schema"), ["no file", "did you mean 'invoice.schema.json'?"]),
    ("schema pointer", BASE.replace("schema.json", "schema.json#/nope").replace("invoice", "»invoice"), ["nothing stands at the pointer '/nope'"]),
    ("schema a number", BASE.replace("invoice.schema.json", "»5"), ["`schema` must be a path", "not 5"]),
    ("gold gone", BASE.replace("acme.gold", "»acme.golf"), ["no file", "did you mean 'acme.gold.json'?"]),
    ("prompt gone", BASE + "prompt: »promt.md\n", ["no file", "did you mean 'prompt.md'?"]),
    ("prompt a list", BASE + "prompt: »[a]\n", ["`prompt` must be the path of a file, not an array"]),
    ("question a number", BASE + "question: »5\n", ["`question` must be a text, not 5; put it in quotes"]),
    ("id with colons", BASE + "id: »a::b\n", ["`id` must be", "without `::`"]),
    ("id a list", BASE + "id: »[a]\n", ["`id` must be a printable text", "not an array"]),
    ("semantics", BASE + "semantics: »extract_bench\n", ["must be one of default, extract-bench", "did you mean 'extract-bench'?"]),
    ("nulls", BASE + "nulls: »absnt\n", ["must be one of absent, value", "did you mean 'absent'?"]),
    ("modality", BASE + "modality: »imge\n", ["must be one of text, image, audio", "did you mean 'image'?"]),
    ("marks a number", BASE + "marks: »3\n", ["`marks` must be a list of marks, not 3"]),
    ("mark no expression", BASE + "marks: [slow, »x(]\n", ["`marks[1]`", "is no mark", "expected a name, or a call"]),
    ("mark calls code", BASE + "marks:\n- »xfail(raises=ValueError)\n", ["is no mark; expected a name, or a call with literal arguments"]),
    ("tags a list", BASE + "tags: »[a]\n", ["`tags` must be a mapping of tag to value, not an array"]),
    ("tag nested", BASE + "tags: {a: »{b: 1}}\n", ["`tags.a` must be a text, a number or a boolean, not an object"]),
    ("repeat zero", BASE + "repeat: »0\n", ["`repeat` must be a whole number, 1 or more, not 0"]),
    ("repeat true", BASE + "repeat: »true\n", ["must be a whole number, 1 or more or a mapping with of, pass, not true"]),
    ("repeat pass too many", BASE + "repeat: {of: 2, pass: »3}\n", ["cannot be more than `of`: 3 of 2"]),
    ("repeat without of", BASE + "repeat: »{pass: 1}\n", ["needs `of`"]),
    ("a variant twice", BASE + "variants: »[{without: total}, {without: [total, vendor.name]}]\n", ["the id 'acme[without-total]' is taken; keep one"]),
    ("inverted box", BASE + "evidence: {total: [{page: 1}, {page: 2, box: »[0.5, 0.5, 0.1, 0.6]}]}\n", ["must be left, top, right and bottom, each side before the other, not [0.5, 0.5, 0.1, 0.6]"]),
    ("flat box", BASE + "evidence: {total: [{page: 2, box: »[0.1, 0.5, 0.2, 0.5]}]}\n", ["must be left, top, right and bottom"]),
    ("repeat key", BASE + "repeat: {of: 2, »passes: 1}\n", ["repeat has no key 'passes'", "did you mean 'pass'?"]),
    ("accept no list", BASE + "accept: {vendor.name: »ACME}\n", ['`accept["vendor.name"]` must be a list of further right values']),
    ("accept empty", BASE + "accept: {vendor.name: »[]}\n", ["not an empty one"]),
    ("accept field", BASE + "accept: {»vendor.nam: [A]}\n", ["no field 'vendor.nam'", "did you mean 'vendor.name'?"]),
    ("absent word", BASE + "absent: {po_number: »mast}\n", ["must be one of must, either", "did you mean 'must'?"]),
    ("absent field", BASE + "absent: {»po_numbr: must}\n", ["no field 'po_numbr'", "did you mean 'po_number'?"]),
    ("absent no path", BASE + "absent: {»'a..b': must}\n", ["'a..b' is no field", "`items[].price`"]),
    ("absent in gold", BASE + "absent: {»vendor.name: must}\n", ["must stay empty, but the gold has a value there"]),
    ("absent skipped", BASE + "absent: {»po_number: must}\noverrides: {po_number: skip}\n", ["is skipped: nobody would see"]),
    ("absent root", BASE + "absent: {»$: either}\n", ["'$' is an object, of which only the fields are compared: name them, as vendor.name,"]),
    ("absent object", BASE + "absent: {»vendor: either}\n", ["'vendor' is an object", "name them, as vendor.name"]),
    ("absent row", BASE + "absent: {»'items[]': either}\n", ["'items[]' is an object", "name them, as items[].price, items[].tax"]),
    ("bound on the root", BASE + "thresholds: {fields: {»$: 1}}\n", ["no score of its own; bound what is in it: vendor.name,"]),
    ("known failure no list", BASE + "known_failures: »{path: total}\n", ["must be a list of {path, until, reason}"]),
    ("known failure no path", BASE + "known_failures:\n- »until: 2027-01-31\n", ["`known_failures[0]` needs `path`"]),
    ("known failure date", BASE + "known_failures: [{path: total, until: »31.1.2027}]\n", ["must be a day written YYYY-MM-DD"]),
    ("known failure no day", BASE + "known_failures: [{path: total, until: »2027-02-30}]\n", ["must be a day written YYYY-MM-DD"]),
    ("known failure key", BASE + "known_failures: [{path: total, »untl: 2027-01-31}]\n", ["no key 'untl'", "did you mean 'until'?"]),
    ("known failure field", BASE + "known_failures: [{path: »'items[].taxes'}]\n", ["no field 'items[].taxes'", "did you mean 'items[].tax'?"]),
    ("gates key", BASE + "gates: {»shema: false}\n", ["gates has no key 'shema'", "did you mean 'schema'?"]),
    ("gates a number", BASE + "gates: »1\n", ["`gates` must be a mapping with schema, bare, grounded, rules, coverage, not 1"]),
    ("gates text", BASE + "gates: {schema: »no}\n", ["`gates.schema` must be true or false, not 'no'"]),
    ("coverage mode", BASE + "gates: {coverage: {mode: »hart}}\n", ["must be one of hard, soft, off", "did you mean 'hard'?"]),
    ("coverage floor", BASE + "gates: {coverage: {floor: »95}}\n", ["`gates.coverage.floor` must be a number above 0, at most 1, not 95"]),
    ("measure", BASE + "thresholds: {»passrate: 1}\n", ["thresholds has no key 'passrate'", "did you mean 'pass_rate'?"]),
    ("measure out of range", BASE + "thresholds:\n  f1: »1.01\n", ["`thresholds.f1` must be a number from 0 to 1, not 1.01"]),
    ("measure no number", BASE + "thresholds: {f1: »high}\n", ["must be a number from 0 to 1, not 'high'"]),
    ("thresholds a number", BASE + "thresholds: »0.9\n", ["must be a mapping of measure to lowest value, not 0.9"]),
    ("field threshold", BASE + "thresholds: {fields: {»'items[].prize': 1}}\n", ["no field 'items[].prize'", "did you mean 'items[].price'?"]),
    ("field threshold range", BASE + "thresholds: {fields: {total: »-1}}\n", ["`thresholds.fields.total` must be a number from 0 to 1, not -1"]),
    ("cost", BASE + "thresholds: {max_cost_usd: »-0.1}\n", ["must be a number, 0 or more, not -0.1"]),
    ("override value", BASE + "overrides: {total: »5}\n", ["must be a metric's name, `skip`, or a mapping"]),
    ("override metric", BASE + "overrides: {»total: nmber}\n", ["no metric 'nmber'", "did you mean 'number'?"]),
    ("override field", BASE + "overrides: {»totl: skip}\n", ["no field 'totl'", "did you mean 'total'?"]),
    ("post kind", BASE + "post_process: »5\n", ["must be a post-processor's name"]),
    ("post name", BASE + "post_process: »reclassify_nuls\n", ["did you mean 'reclassify_nulls'?"]),
    ("post in a list", BASE + "post_process: [propagate_batch_errors, »nulls]\n", ["no post-processor 'nulls'"]),
    ("post parameter", BASE + "post_process:\n- »{name: reclassify_nulls, absent: 1}\n", ["no parameter 'absent'"]),
    ("override key", BASE + "overrides:\n  total: {»metrik: number}\n", ["metrik", "did you mean 'metric'?"]),
    ("inline schema metric", BASE.replace("invoice.schema.json", "{type: object, properties: {total: {type: number, evaluation_config: »nmber}}}"), ["at /properties/total/evaluation_config", "no metric 'nmber'"]),
    ("inline gold breaks schema", BASE.replace("acme.gold.json", "{items: [{price: »cheap}]}"), ["the gold does not satisfy its schema at items[0].price", "`gates: {schema: false}`"]),
    ("defaults a list", BASE + "defaults: »[1]\n", ["`defaults` must be a mapping of case keys, or the path of a YAML file"]),
    ("defaults gone", BASE + "defaults: »shared.yaml\n", ["`defaults`: no file"]),
    ("defaults key", BASE + "defaults: {»tag: {}}\n", ["unknown key 'tag'", "did you mean 'tags'?"]),
    ("nested defaults", BASE + "defaults: {»defaults: {}}\n", ["`defaults` belongs at the top of the file"]),
    ("cases a mapping", "cases: »{a: 1}\n", ["`cases` must be a list with at least one case"]),
    ("cases empty", "cases: »[]\n", ["`cases` must be a list with at least one case"]),
    ("case a text", "cases:\n- »acme\n", ["a case is a mapping with document, schema and gold, not string"]),
    ("stray key", "cases:\n- {document: acme.txt, schema: invoice.schema.json, gold: {}}\n»tags: {}\n", ["'tags' cannot stand beside `cases`", "`defaults`"]),
    ("stray unknown key", "»case: 1\ncases:\n- {document: acme.txt, schema: invoice.schema.json, gold: {}}\n", ["'case' cannot stand beside", "did you mean 'cases'?"]),
    ("cases and dataset", "cases: [{}]\n»dataset: a.jsonl\n", ["both `cases` and `dataset`"]),
    ("dataset gone", "dataset: »a.jsonl\n", ["`dataset`: no file"]),
    ("dataset empty", "dataset: »empty.jsonl\n", ["`dataset`:", "empty.jsonl has no line", "at least one case"]),
    ("dataset blank", "dataset: »blank.jsonl\n", ["blank.jsonl has no line"]),
    ("dataset a list", "dataset: »[a.jsonl]\n", ["`dataset` must be the path of a JSONL file"]),
    ("no document matches", "documents: »'*.pdf'\nschema: invoice.schema.json\ngold: '{stem}.json'\n", ["no document matches '*.pdf'"]),
    ("defaults with cases", BASE + "defaults: {»cases: []}\n", ["`cases` belongs at the top of the file"]),
    ("same id in one line", "cases: [{id: a, text: x, schema: {}, gold: {}}, {id: »a, text: y, schema: {}, gold: {}}]\n", ["the id 'a' is taken by the case of line 1"]),
    ("same id", "cases:\n- {id: a, text: x, schema: {}, gold: {}}\n- {id: »a, text: y, schema: {}, gold: {}}\n", ["the id 'a' is taken by the case of line 2"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_a_mistake_in_a_case_file(folder, text, words):
    text, line, column = _marked(text)
    told = _told(folder, text)
    assert [entry[:3] for entry in told] == [("acme.extract.yaml", line, column)], told
    for word in words:
        assert word in told[0][3]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("acme.gold.json", '{"total": 1,\n »"total": 2}', ["duplicate key 'total'"]),
        ("acme.gold.json", '{"total": »NaN}', ["NaN is no JSON number"]),
        ("acme.gold.json", '{"total": 1\n»', ["not JSON"]),
        ("acme.gold.json", '{"total": »"1.5"}', ["does not satisfy its schema at total", '"1.5"']),
        ("acme.gold.json", '{"items": [{"price": 1},\n {"price": »"x"}]}', ["at items[1].price"]),
        ("invoice.schema.json", '{"type": "object" »"a"}', ["not JSON"]),
        ("invoice.schema.json", '{"type": "object", »"type": "array"}', ["duplicate key 'type'"]),
        (
            "acme.extract.yaml",
            BASE.replace("invoice.schema", "»wrapped"),
            ["the schema is its 'body'", "`wrapped.json#/body`"],
        ),
        (
            "invoice.schema.json",
            '{"type": »"objekt"}',
            ["no valid JSON Schema", "no type 'objekt'; did you mean 'object'?"],
        ),
        (
            "invoice.schema.json",
            '{"type": "objekt", "properties": {"total": {"minimum": »"x"}}}',
            ["at /properties/total/minimum", '"x" is a string, a number was expected'],
        ),
        (
            "invoice.schema.json",
            '{"$defs": {"money": {}}, "properties": {"total": {"$ref": »"#/$defs/mony"}}}',
            ["'#/$defs/mony' leads nowhere in the schema", "did you mean '#/$defs/money'?"],
        ),
        (
            "invoice.schema.json",
            '{"properties": {"total": {"$ref": »"https://example.com/money.json"}}}',
            ["nothing is fetched: put what it means under `$defs`"],
        ),
        (
            "invoice.schema.json",
            '{"properties": {"total": {"$ref": »"money.json"}}}',
            ["'money.json' leads nowhere in the schema or the project's folder"],
        ),
        ("invoice.schema.json", "»[1]", ["no valid JSON Schema", "not array"]),
        (
            "invoice.schema.json",
            '{"properties": {"total":\n {"type": "number", "evaluation_config": »"number_exakt"}}}',
            ["at /properties/total/evaluation_config", "no metric 'number_exakt'", "did you mean 'number_exact'?"],
        ),
        (
            "invoice.schema.json",
            '{"properties": {"total":\n {"type": "number", "x-eval-compare": »{"numeric": {"rell": 1}}}}}',
            ["no parameter 'rell'"],
        ),
    ],
    ids=[
        "duplicate",
        "nan",
        "open",
        "type",
        "row",
        "schema comma",
        "schema duplicate",
        "wrapped",
        "type name",
        "second schema mistake",
        "reference",
        "other document",
        "no such file",
        "list",
        "metric",
        "param",
    ],
)
def test_a_mistake_in_a_schema_or_gold_is_placed_in_its_own_file(folder, name, text, words):
    text, line, column = _marked(text)
    (folder / "wrapped.json").write_text('{"name": "x", "body": {"type": "object"}}', encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    told = _told(folder, text if name == "acme.extract.yaml" else BASE)
    assert (name, line, column) in [entry[:3] for entry in told], told
    message = next(entry[3] for entry in told if entry[:3] == (name, line, column))
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ('{"id": "b", "text": "x", "gold": {}, »"golf": 1}', None, ["unknown key 'golf'"]),
        ('{"text": "x", "gold": {"total": »"x"}}', None, ["at total"]),
        ('{"text": "x", »"gold" 1}', None, ["not JSON"]),
        ("»[1]", None, ["a case is a mapping with document, schema and gold, not array"]),
        ('{"text": "x", "gold": {}, "repeat": »0}', None, ["1 or more, not 0"]),
        ('{"text": "x", "gold": {"a": »NaN}}', None, ["NaN"]),
    ],
    ids=["key", "gold", "json", "list", "value", "nan"],
)
def test_a_mistake_in_a_dataset_names_the_jsonl_file_and_line(folder, line, column, words):
    text, _, column = _marked(line)
    good = '{"text": "x", "gold": {"total": 1}}'
    (folder / "records.jsonl").write_text(f"{good}\n\n{text}\n{good}\n", encoding="utf-8")
    (folder / "d.extract.yaml").write_text(
        "dataset: records.jsonl\ndefaults:\n  schema: invoice.schema.json\n", encoding="utf-8"
    )
    loaded = load_cases(folder / "d.extract.yaml", SchemaCache())
    told = [(error.path.name, error.line, error.message) for error in loaded.errors]
    assert [entry[:2] for entry in told] == [("records.jsonl", 3)], told
    if '"gold" 1' not in text:
        assert loaded.errors[0].column == column
    for word in words:
        assert word in told[0][2]
    assert [case.id for case in loaded.cases] == ["d-1", "d-4"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_a_line_of_a_dataset_that_is_not_utf_8_keeps_only_its_own_case_from_running(folder, mark, end):
    good = [json.dumps({"id": name, "text": "x", "gold": "acme.gold.json"}).encode() for name in ("a", "b")]
    bad = b'{"id": "caf\xe9", "text": "x", "gold": "acme.gold.json"}'
    (folder / "records.jsonl").write_bytes(mark + end.join([good[0], bad, good[1], b""]))
    text = "dataset: records.jsonl\ndefaults:\n  schema: invoice.schema.json\n"
    (folder / "acme.extract.yaml").write_text(text, encoding="utf-8")
    loaded = load_cases(folder / "acme.extract.yaml", SchemaCache())
    assert [case.id for case in loaded.cases] == ["a", "b"]
    (error,) = loaded.errors
    assert (error.path.name, error.line, error.column) == ("records.jsonl", 2, 12)
    assert error.message == "the byte 0xe9 is not UTF-8; save the file as UTF-8"


def test_a_mistake_of_a_document_beside_a_pattern_stands_at_the_document(folder):
    text = BASE.replace("acme.txt", "acne.txt") + "thresholds: {f1: 7}\ndocuments: '*.txt'\n"
    first, *others = _told(folder, text)
    assert first[1:3] == (1, 11)
    assert first[3].startswith("`document`: no file ")
    assert [entry[1] for entry in others] == [4, 5]


def test_several_mistakes_are_told_at_once_and_the_good_cases_load(folder):
    text = """defaults:
  schema: invoice.schema.json
  thresholds: {f1: 0.5}
cases:
- {id: one, document: acme.txt, gold: acme.gold.json}
- {id: two, document: acne.txt, golf: acme.gold.json, tresholds: {}}
- {id: three, document: acme.txt, gold: {total: x}, thresholds: {fields: {totl: 2}}}
- {id: four, document: acme.txt, gold: acme.gold.json, thresholds: {recall: 0.1}}
"""
    told = _told(folder, text)
    assert [entry[1] for entry in told] == [6, 6, 6, 7, 7, 7]
    loaded = load_cases(folder / "acme.extract.yaml", SchemaCache())
    assert [case.id for case in loaded.cases] == ["one", "four"]
    assert [case.line for case in loaded.cases] == [5, 8]
    assert dict(loaded.cases[1].thresholds.measures) == {"f1": 0.5, "recall": 0.1}


def test_a_mistake_in_defaults_is_told_once_and_spares_the_cases_that_replace_it(folder):
    text = """defaults:
  schema: invoice.schema.json
  document: acme.txt
  repeat: 0
  thresholds: {f1: 2}
cases:
- {id: inherits, gold: acme.gold.json}
- {id: replaces, gold: acme.gold.json, repeat: 2}
- {id: merges, gold: acme.gold.json, repeat: 2, thresholds: {recall: 1}}
"""
    told = _told(folder, text)
    assert [entry[1:3] for entry in told] == [(4, 11), (5, 20)]
    text = text.replace("f1: 2", "f1: 1")
    (folder / "acme.extract.yaml").write_text(text, encoding="utf-8")
    loaded = load_cases(folder / "acme.extract.yaml", SchemaCache())
    assert [case.id for case in loaded.cases] == ["replaces", "merges"]


def test_a_mistake_of_a_shared_schema_is_told_once(folder):
    (folder / "invoice.schema.json").write_text(
        '{"properties": {"a": {"evaluation_config": "nope"}}}', encoding="utf-8"
    )
    rows = "".join("- {text: x, gold: {}}\n" for _ in range(20))
    told = _told(folder, f"defaults: {{schema: invoice.schema.json}}\ncases:\n{rows}")
    assert [entry[0] for entry in told] == ["invoice.schema.json"]


def test_many_violations_of_a_gold_are_cut_short(folder):
    (folder / "acme.gold.json").write_text(json.dumps({"items": [{"price": "x"}] * 50}), encoding="utf-8")
    told = _told(folder, BASE)
    assert len(told) == 5


def test_a_gold_that_breaks_its_schema_is_taken_with_the_gate_off(folder):
    (folder / "acme.gold.json").write_text('{"total": "1.5"}', encoding="utf-8")
    assert _told(folder, BASE + "gates: {schema: false}\n") == []


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_bytes_that_are_no_text_are_told_with_their_place(folder, mark):
    (folder / "acme.extract.yaml").write_bytes(mark + b"id: a\ntags: {a: \xff}\n")
    (error,) = load_cases(folder / "acme.extract.yaml", SchemaCache()).errors
    assert (error.line, error.column) == (2, 11)
    assert "0xff is not UTF-8" in error.message
    assert str(error).startswith(f"{folder / 'acme.extract.yaml'}:2:11: ")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    (error,) = load_cases(tmp_path / "no.extract.yaml", SchemaCache()).errors
    assert "cannot be read: No such file" in error.message


NO_NAMES = ["x" * 5000, "x/" * 3000, "a\0b", "\ud800", "acme.txt/inside", "nowhere/x"]
IN_A_CASE = ("document", "schema", "gold", "prompt")


@pytest.mark.parametrize(
    ("key", "name"),
    [(key, name) for key in IN_A_CASE for name in NO_NAMES]
    + [
        (key, name) for key in ("defaults", "dataset") for name in NO_NAMES if name != "\ud800"
    ],  # which YAML cannot hold
    ids=lambda part: ascii(part[:9]),
)
def test_a_name_that_no_file_has_is_told(folder, key, name):
    record = {"text": "x", "schema": {}, "gold": {}, key: name}
    if key == "document":
        del record["text"]
    if key not in IN_A_CASE:
        text = json.dumps({key: name} if key == "dataset" else record)
    else:
        (folder / "d.jsonl").write_text(json.dumps(record), encoding="utf-8")
        text = "dataset: d.jsonl\n"
    told = _told(folder, text)
    assert len(told) == 1
    assert f"`{key}`" in told[0][3]
    told[0][3].encode()


def test_the_table_is_long_enough():
    assert len(MISTAKES) >= 40
    assert len({row[0] for row in MISTAKES}) == len(MISTAKES)


def _case(**keys: Any) -> str:
    return json.dumps({"document": "acme.txt", "schema": "invoice.schema.json", "gold": "acme.gold.json", **keys})


@pytest.mark.parametrize("rows", [5, 6])
def test_a_gold_with_more_violations_than_are_listed_says_so(folder, rows):
    told = _told(folder, _case(gold={"items": [{"price": "x"}] * rows}))
    assert len(told) == 5
    assert ("there are more than the 5 that are listed" in told[0][3]) is (rows > 5)


def test_json_is_a_case_file_too(folder):
    assert _told(folder, _case(id="x", tags={"a": 1})) == []


@pytest.mark.parametrize(
    ("real", "written", "words"),
    [
        ("Bill.txt", "BILL.TXT", "did you mean 'Bill.txt'?"),
        ("Docs/bill.txt", "docs/bill.txt", "docs; did you mean 'Docs'?"),
        ("docs/Bill.txt", "docs/bill.txt", "did you mean 'Bill.txt'?"),
        ("re\u0301sume\u0301.txt", "r\u00e9sum\u00e9.txt", "did you mean 're\u0301sume\u0301.txt'?"),
        ("Invoice.txt", "Invioce.txt", "did you mean 'Invoice.txt'?"),
        ("b.txt", "gone/b.txt", "there is no folder"),
        ("b.txt", "b.txt/c.txt", "there is no folder"),
        ("docs-a.txt", "docs\\a.txt", "did you mean 'docs-a.txt'?"),
    ],
)
@pytest.mark.parametrize("key", ["document", "gold", "schema", "defaults"])
def test_a_path_that_works_on_another_system_is_told_with_what_differs(folder, real, written, words, key):
    (folder / real).parent.mkdir(exist_ok=True)
    (folder / real).write_text("{}", encoding="utf-8")
    keys = {"document": "acme.txt", "schema": "invoice.schema.json", "gold": "acme.gold.json"} | {key: written}
    told = _told(folder, json.dumps(keys))
    assert len(told) == 1, told
    assert words in told[0][3]


@pytest.mark.parametrize("key", ["document", "gold", "schema", "prompt", "defaults"])
@pytest.mark.parametrize("target", ["gone.txt", "link.txt"])
def test_a_link_that_leads_nowhere_is_told(folder, key, target):
    (folder / "link.txt").symlink_to(target)
    ((_, _, _, message),) = _told(folder, _case(**{key: "link.txt"}))
    assert f"`{key}`: no file {folder / 'link.txt'}: the link leads nowhere" in message


def _loaded(folder: Path, **keys: Any) -> Any:
    (folder / "a.extract.yaml").write_text(json.dumps({"text": "x", **keys}), encoding="utf-8")
    return load_cases(folder / "a.extract.yaml", SchemaCache())


@pytest.mark.parametrize("key", ["Case #1", "a#/b", "#"])
@pytest.mark.parametrize("name", ["golds.json", "golds #1.json"])
def test_the_key_of_a_part_may_have_a_number_sign(folder, name, key):
    (folder / name).write_text(json.dumps({key: {"total": 1}}), encoding="utf-8")
    pointer = key.replace("/", "~1")
    loaded = _loaded(folder, schema="invoice.schema.json", gold=f"{name}#/{pointer}")
    assert [case.gold for case in loaded.cases] == [{"total": 1}]
    gone = _loaded(folder, schema="invoice.schema.json", gold=f"gone-{name}#/{pointer}").errors
    assert f"no file {folder / f'gone-{name}'}" in gone[0].message


def test_a_gold_may_be_a_part_of_a_file_as_a_schema_may(folder):
    bundle = {"schema": SCHEMA, "cases": [{"expected": GOLD}, {"expected": {"total": "one"}}]}
    for name in ("bundle.json", "bundle.yaml", "bundle #1.json"):
        (folder / name).write_text(json.dumps(bundle, indent=1), encoding="utf-8")
        loaded = _loaded(folder, schema=f"{name}#/schema", gold=f"{name}#/cases/0/expected")
        assert not loaded.errors
        assert loaded.cases[0].gold == GOLD
        wrong = _loaded(folder, schema=f"{name}#/schema", gold=f"{name}#/cases/1/expected").errors
        assert [(error.path.name, error.line) for error in wrong] == [(name, 55)]
        gone = _loaded(folder, schema=f"{name}#/schema", gold=f"{name}#/cases/0/expectd").errors
        assert f"nothing stands at the pointer '/cases/0/expectd' of {name}" in gone[0].message
    missing = _loaded(folder, schema="bundle.json#/schema", gold="gone.json#/expected").errors[0].message
    assert "`gold`: no file" in missing
    assert "gone.json" in missing
    assert "--extract-update-gold" not in missing


def test_the_name_of_a_file_may_hold_a_number_sign(folder):
    (folder / "v#2.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (folder / "g#1.json").write_text(json.dumps(GOLD), encoding="utf-8")
    assert not _loaded(folder, schema="v#2.json", gold="g#1.json").errors
    assert "did you mean 'v#2.json'?" in _loaded(folder, schema="V#2.json", gold="g#1.json").errors[0].message


@pytest.mark.parametrize("name", ["bundle.json", "bundle.yaml"])
def test_a_new_value_is_written_where_the_pointer_of_the_gold_leads(folder, name):
    bundle = {"id": 1, "cases": [{"expected": GOLD}, {"expected": GOLD}]}
    (folder / name).write_text(json.dumps(bundle, indent=2), encoding="utf-8")
    case = _loaded(folder, schema="invoice.schema.json", gold=f"{name}#/cases/1/expected").cases[0]
    assert read_gold(case) == GOLD
    assert update_gold(case, {**GOLD, "total": 9})
    bundle["cases"][1]["expected"] = {**GOLD, "total": 9}
    text = (folder / name).read_text(encoding="utf-8")
    assert (json.loads(text) if name.endswith("json") else yaml.safe_load(text)) == bundle
    assert text.count("\n") > 10
