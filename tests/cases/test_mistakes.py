"""Every mistake is told with file, line, column, what was expected and the nearest right spelling.

In the tables, `»` stands before the place that the error must name; it is taken out before the file is written.
"""

from __future__ import annotations

import codecs
import json
import sys

import pytest
import yaml

from pytest_extract.cases.edit import read_gold, update_gold
from pytest_extract.cases.load import load_cases
from tests.cases.conftest import GOLD, SCHEMA
from tests.shared_data import shared

KEYS = {"document": "acme.txt", "schema": "invoice.schema.json", "gold": "acme.gold.json"}
BASE = "".join(f"{key}: {name}\n" for key, name in KEYS.items())
SHARED = "defaults: {schema: invoice.schema.json}\n"


def told_of(loaded):
    return [(error.path.name, error.line, error.column, error.message) for error in loaded.errors]


def marked(text):
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
    ("documents no pattern", BASE.replace("document: acme.txt", "documents: »'**.pdf'"), ["`documents`: ", "the pattern '**.pdf' cannot be used" if sys.version_info < (3, 13) else "no document matches '**.pdf'"]),
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
    ("absent skipped", BASE + "absent: {»po_number: must}\noverrides: {po_number: skip}\n", ["'po_number' is skipped, or has no score of its own"]),
    ("absent root", BASE + "absent: {»$: either}\n", ["'$' is skipped, or has no score of its own: name the fields in it"]),
    ("absent row", BASE + "absent: {»'items[]': either}\n", ["'items[]' is skipped, or has no score of its own"]),
    ("bound on the root", BASE + "thresholds: {fields: {»$: 1}}\n", ["'$' is skipped, or has no score of its own"]),
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
    ("cases empty", "cases: »[]\n", ["`cases` must be a list with at least one case"]),
    ("case a text", "cases:\n- »acme\n", ["a case is a mapping with document, schema and gold, not string"]),
    ("cases a mapping", "cases: »{a: 1}\n", ["`cases` must be a list with at least one case"]),
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
def test_a_mistake_in_a_case_file(load, text, words):
    text, line, column = marked(text)
    ((*place, message),) = told_of(load(text, **{"empty.jsonl": "", "blank.jsonl": "\ufeff\n \r\n\t\n"}))
    assert place == ["acme.extract.yaml", line, column], message
    assert [word for word in words if word not in message] == [], message


IN_A_GOLD = [
    ('{"total": 1,\n »"total": 2}', ["duplicate key 'total'"]),
    ('{"total": »NaN}', ["NaN is no JSON number"]),
    ('{"total": 1\n»', ["not JSON"]),
    ('{"total": »"1.5"}', ["does not satisfy its schema at total", '"1.5"', "`gates: {schema: false}`"]),
    ('{"items": [{"price": 1},\n {"price": »"x"}]}', ["at items[1].price"]),
]
IN_A_SCHEMA = [
    ('{"type": "object" »"a"}', ["not JSON"]),
    ('{"type": "object", »"type": "array"}', ["duplicate key 'type'"]),
    ('{"type": »"objekt"}', ["no valid JSON Schema", "no type 'objekt'; did you mean 'object'?"]),
    ("»[1]", ["no valid JSON Schema", "not array"]),
    ('{"$defs": {"a": {}}, "items": {"$ref": »"#/$defs/b"}}', ["leads nowhere", "did you mean '#/$defs/a'?"]),
]
IN_THE_SCHEMA_OF_A_FIELD = [
    ('"type": "objekt", "minimum": »"x"', ["at /properties/total/minimum", '"x" is a string, a number was expected']),
    ('"$ref": »"https://example.com/money.json"', ["nothing is fetched: put what it means under `$defs`"]),
    ('"$ref": »"money.json"', ["'money.json' leads nowhere in the schema or the project's folder"]),
    ('"evaluation_config": »"number_exakt"', ["at /properties/total/ev", "no metric", "did you mean 'number_exact'?"]),
    ('"type": "number",\n "x-eval-compare": »{"numeric": {"rell": 1}}', ["no parameter 'rell'"]),
]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        *(("acme.gold.json", *row) for row in IN_A_GOLD),
        *(("invoice.schema.json", *row) for row in IN_A_SCHEMA),
        *(
            ("invoice.schema.json", f'{{"properties": {{"total": {{{text}}}}}}}', words)
            for text, words in IN_THE_SCHEMA_OF_A_FIELD
        ),
    ],
)
def test_a_mistake_in_a_schema_or_gold_is_placed_in_its_own_file(load, name, text, words):
    text, line, column = marked(text)
    told = {tuple(place): message for *place, message in told_of(load(BASE, **{name: text}))}
    assert (name, line, column) in told
    assert [word for word in words if word not in told[name, line, column]] == [], told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "b", "text": "x", "gold": {}, »"golf": 1}', "unknown key 'golf'"),
        ('{"text": "x", "gold": {"total": »"x"}}', "at total"),
        ('{"text": "x", "gold" »1}', "not JSON"),
        ("»[1]", "a case is a mapping with document, schema and gold, not array"),
        ('{"text": "x", "gold": {}, "repeat": »0}', "1 or more, not 0"),
        ('{"text": "x", "gold": {"a": »NaN}}', "NaN"),
    ],
)
def test_a_mistake_in_a_dataset_names_the_jsonl_file_and_line(load, text, words):
    text, _, column = marked(text)
    good = '{"text": "x", "gold": {"total": 1}}'
    loaded = load(f"dataset: d.jsonl\n{SHARED}", **{"d.jsonl": f"{good}\n\n{text}\n{good}\n"})
    ((*place, message),) = told_of(loaded)
    assert place == ["d.jsonl", 3, column]
    assert words in message
    assert [case.id for case in loaded.cases] == ["acme-1", "acme-4"]


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["plain", "bom"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_bytes_that_are_no_text_are_told_with_their_place(folder, load, mark, end):
    good = [json.dumps({"id": name, "text": "x", "gold": "acme.gold.json"}).encode() for name in ("a", "b")]
    bad = b'{"id": "caf\xe9", "text": "x", "gold": "acme.gold.json"}'
    (folder / "d.jsonl").write_bytes(mark + end.join([good[0], bad, good[1], b""]))
    loaded = load(f"dataset: d.jsonl\n{SHARED}")
    assert [case.id for case in loaded.cases] == ["a", "b"]
    assert told_of(loaded) == [("d.jsonl", 2, 12, "the byte 0xe9 is not UTF-8; save the file as UTF-8")]
    path = folder / "b.extract.yaml"
    path.write_bytes(mark + b"id: a" + end + b"tags: {a: \xff}" + end)
    (error,) = load_cases(path).errors
    assert str(error).startswith(f"{path}:2:11: the byte 0xff is not UTF-8")


def test_several_mistakes_are_told_at_once_and_the_good_cases_load(load):
    text = """defaults:
  schema: invoice.schema.json
  thresholds: {f1: 0.5}
cases:
- {id: one, document: acme.txt, gold: acme.gold.json}
- {id: two, document: acne.txt, golf: acme.gold.json, tresholds: {}}
- {id: three, document: acme.txt, gold: {total: x}, thresholds: {fields: {totl: 2}}}
- {id: four, document: acme.txt, gold: acme.gold.json, thresholds: {recall: 0.1}}
"""
    loaded = load(text)
    assert [error.line for error in loaded.errors] == [6, 6, 6, 7, 7, 7]
    assert [(case.id, case.line) for case in loaded.cases] == [("one", 5), ("four", 8)]
    assert dict(loaded.cases[1].thresholds.measures) == {"f1": 0.5, "recall": 0.1}


def test_a_mistake_in_defaults_is_told_once_and_spares_the_cases_that_replace_it(load):
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
    assert [place[1:3] for place in told_of(load(text))] == [(4, 11), (5, 20)]
    assert [case.id for case in load(text.replace("f1: 2", "f1: 1")).cases] == ["replaces", "merges"]


def test_a_mistake_of_a_document_beside_a_pattern_stands_at_the_document(load):
    text = BASE.replace("acme.txt", "acne.txt") + "thresholds: {f1: 7}\ndocuments: '*.txt'\n"
    first, *others = told_of(load(text))
    assert first[1:3] == (1, 11)
    assert first[3].startswith("`document`: no file ")
    assert [place[1] for place in others] == [4, 5]


def test_a_mistake_of_a_shared_schema_is_told_once(load):
    schema = {"properties": {"a": {"evaluation_config": "nope"}}}
    loaded = load(SHARED + "cases:\n" + "- {text: x, gold: {}}\n" * 20, **{"invoice.schema.json": schema})
    assert [error.path.name for error in loaded.errors] == ["invoice.schema.json"]


@pytest.mark.parametrize("rows", [5, 6])
def test_a_gold_with_more_violations_than_are_listed_says_so(load, rows):
    gold = {"items": [{"price": "x"}] * rows}
    told = told_of(load({**KEYS, "gold": gold}))
    assert len(told) == 5
    assert ("there are more than the 5 that are listed" in told[0][3]) is (rows > 5)
    assert load({**KEYS, "gold": gold, "gates": {"schema": False}}).errors == ()


# --- paths

NO_NAMES = ["x" * 5000, "x/" * 3000, "a\0b", "acme.txt/inside", "nowhere/x"]
LONE_SURROGATE = "\ud800"  # which YAML cannot hold
IN_A_CASE = ("document", "schema", "gold", "prompt")


@pytest.mark.parametrize("name", [*NO_NAMES, LONE_SURROGATE], ids=lambda name: ascii(name[:9]))
@pytest.mark.parametrize("key", [*IN_A_CASE, "defaults", "dataset"])
def test_a_name_that_no_file_has_is_told(load, key, name):
    record = {"text": "x", "schema": {}, "gold": {}, key: name}
    if key == "document":
        del record["text"]
    if key in IN_A_CASE:
        loaded = load("dataset: d.jsonl\n", **{"d.jsonl": record})
    else:
        loaded = load({key: name} if key == "dataset" else record)
    (error,) = loaded.errors
    assert f"`{key}`" in error.message or name == LONE_SURROGATE
    error.message.encode()


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    (error,) = load_cases(tmp_path / "no.extract.yaml").errors
    assert "cannot be read: No such file" in error.message


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
def test_a_path_that_works_on_another_system_is_told_with_what_differs(load, real, written, words, key):
    (error,) = load({**KEYS, key: written}, **{real: "{}"}).errors
    assert words in error.message


@pytest.mark.parametrize("key", [*KEYS, "prompt", "defaults"])
@pytest.mark.parametrize("target", ["gone.txt", "link.txt"])
def test_a_link_that_leads_nowhere_is_told(folder, load, key, target):
    (folder / "link.txt").symlink_to(target)
    (error,) = load({**KEYS, key: "link.txt"}).errors
    assert f"`{key}`: no file {folder / 'link.txt'}: the link leads nowhere" in error.message


# --- parts of files


@pytest.mark.parametrize("key", ["Case #1", "a#/b", "#"])
@pytest.mark.parametrize("name", ["golds.json", "golds #1.json"])
def test_the_name_of_a_file_and_the_key_of_a_part_may_have_a_number_sign(folder, load, load_case, name, key):
    bundle, pointer = {key: {"total": 1}}, key.replace("/", "~1")
    assert load_case({**KEYS, "gold": f"{name}#/{pointer}"}, **{name: bundle}).gold == {"total": 1}
    (error,) = load({**KEYS, "gold": f"gone-{name}#/{pointer}"}).errors
    assert f"no file {folder / f'gone-{name}'}" in error.message
    assert load({**KEYS, "schema": "v#2.json"}, **{"v#2.json": SCHEMA}).errors == ()
    assert "did you mean 'v#2.json'?" in load({**KEYS, "schema": "V#2.json"}).errors[0].message


@pytest.mark.parametrize("name", ["bundle.json", "bundle.yaml", "bundle #1.json"])
def test_a_gold_may_be_a_part_of_a_file_as_a_schema_may(load, load_case, name):
    parts = {"schema": SCHEMA, "cases": [{"expected": GOLD}, {"expected": {"total": "one"}}]}
    bundle = json.dumps(parts, indent=1)
    keys = {**KEYS, "schema": f"{name}#/schema"}
    case = load_case({**keys, "gold": f"{name}#/cases/0/expected"}, **{name: bundle})
    assert read_gold(case) == case.gold == GOLD
    (wrong,) = load({**keys, "gold": f"{name}#/cases/1/expected"}).errors
    assert (wrong.path.name, wrong.line) == (name, bundle[: bundle.index('"one"')].count("\n") + 1)
    (gone,) = load({**keys, "gold": f"{name}#/cases/0/expectd"}).errors
    assert f"nothing stands at the pointer '/cases/0/expectd' of {name}" in gone.message
    (missing,) = load({**keys, "gold": "gone.json#/expected"}).errors
    assert "`gold`: no file" in missing.message
    assert "--extract-update-gold" not in missing.message
    assert update_gold(case, {**GOLD, "total": 9})
    text = case.gold_path.read_text(encoding="utf-8")
    parts["cases"][0]["expected"] = {**GOLD, "total": 9}
    assert yaml.safe_load(text) == parts
    assert text.count("\n") == bundle.count("\n")


def test_a_schema_inside_another_value_is_pointed_at(load):
    wrapped = {"name": "x", "body": {"type": "object"}}
    ((*place, message),) = told_of(load({**KEYS, "schema": "wrapped.json"}, **{"wrapped.json": wrapped}))
    assert place == ["acme.extract.yaml", 1, json.dumps({**KEYS, "schema": "wrapped.json"}).index('"wrapped') + 1]
    assert "the schema is its 'body'" in message
    assert "`wrapped.json#/body`" in message
    published = shared("data/extract-bench/dataset/hiring/resume/resume-schema.json")
    (error,) = load({**KEYS, "schema": str(published)}).errors
    assert f"write `{published}#/schema_definition`" in error.message
