"""`pytest-extract init`, `draft` and `import`: write case files of documents or of datasets, and draft golds."""

from __future__ import annotations

import argparse
import glob
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from pytest_extract.cases.load import SUFFIXES, case_name, load_cases, matched_documents
from pytest_extract.cases.model import EDITOR_SCHEMA, case_file_schema
from pytest_extract.cases.schemas import SchemaCache, compile_structure
from pytest_extract.cases.sources import path_and_pointer
from pytest_extract.cli.files import (
    case_files,
    load_all_cases,
    print_note,
    print_text,
    read_schema,
    refuse_options,
    schema_of_class,
)
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.gates import MODALITIES
from pytest_extract.core.judges import GIVE_A_JUDGE
from pytest_extract.core.words import listed, plural
from pytest_extract.documents import MEDIA_TYPES
from pytest_extract.errors import ConfigError, StoreError
from pytest_extract.files import display_path, write_atomic
from pytest_extract.importers import Imported, Record

_CASE: Final = """\
# One document, the JSON Schema of what is wanted, and the JSON that is right. All keys: pytest-extract schema print
text: |
  ACME GmbH, Hauptstr. 1, Berlin
  Invoice 2026-117
  Total due: 12.50 EUR
# document: invoice.pdf   # a file beside this one, in place of `text`
schema: first.schema.json
gold: {vendor: ACME GmbH, number: 2026-117, total: 12.5}
thresholds: {pass_rate: 1.0}
"""
_SCHEMA: Final = """\
{
  "type": "object",
  "required": ["vendor", "total"],
  "additionalProperties": false,
  "properties": {
    "vendor": {"type": "string"},
    "number": {"type": "string"},
    "total": {"type": "number"}
  }
}
"""
_CONFTEST: Final = '''\
"""The extractor under test. Put yours in the place of `extract`; a model: pytest --extract-model=PROVIDER/NAME."""

import re

import pytest

from pytest_extract import LitellmExtractor


@pytest.fixture(scope="session")
def extractor(extract_model, extract_mode):
    if extract_model is not None:
        return LitellmExtractor(model=extract_model, mode=extract_mode)

    def extract(document, schema):
        lines = document.text.splitlines()
        return {
            "vendor": lines[0].partition(",")[0],
            "number": re.search(r"Invoice (\\S+)", document.text)[1],
            "total": float(re.search(r"Total due: ([0-9.]+)", document.text)[1]),
        }

    return extract
'''
_SUITE: Final = """\
# A case for each document. All keys: pytest-extract schema print
documents: {documents}
schema: {schema}
gold: "golds/{{path}}.json"
thresholds: {{pass_rate: 1.0}}
"""
_DRAFT_SCHEMA: Final = """\
{
  "type": "object",
  "properties": {
    "title": {"type": ["string", "null"], "description": "Replace this field by those that you want extracted."}
  }
}
"""
_DOCUMENTS: Final = MEDIA_TYPES.keys() - {".json", ".jsonl", ".yaml", ".yml", ".log"}
"""How files end that are taken for documents where a folder holds them."""

Pattern: TypeAlias = tuple[Path, str]
"""A folder, and the pattern of documents in it."""


def init_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", type=Path, nargs="*", default=[], metavar="DOCS|DIR", help="documents, or a folder")
    parser.add_argument("--schema", metavar="SCHEMA", help="JSON Schema; `file.json#/pointer` reaches inside")
    parser.add_argument("--suite", type=Path, metavar="FILE", help="case file (default: cases/FOLDER.extract.yaml)")


def run_init(args: argparse.Namespace) -> int:
    """Write a first case, its schema and an extractor below DIR, or a suite of documents.

    With documents (files, or folders that hold some), the suite has a case for each of them. What is there already is
    never touched.
    """
    patterns = document_patterns(args.paths)
    if patterns:
        suite = args.suite or suite_path(patterns)
        unwritten = write_suite(patterns, suite, args.schema)
        if unwritten is not None:
            print_text(f"write the fields that you want into {unwritten}")
        shown = shlex.quote(str(suite))
        print_text(f"then make the golds: pytest-extract draft {shown} --model=PROVIDER/NAME --budget=USD")
        print_text(f"now run: pytest {shown}")
        return 0
    if len(args.paths) > 1 or args.schema or args.suite:
        raise ConfigError("no document is there: give files, or folders that hold documents")
    folder = (args.paths[0] if args.paths else Path()) / "cases"
    for path in _write(folder, {"first.extract.yaml": _CASE, "first.schema.json": _SCHEMA, "conftest.py": _CONFTEST}):
        print_text(f"wrote {path}")
    print_text(f"now run: pytest {shlex.quote(str(folder))}")
    return 0


def _write(folder: Path, texts: Mapping[str, str], *later: str) -> list[Path]:
    """Write texts by file name, and the schema of case files for editors; return the paths.

    Raises StoreError where one of them is there, or of the names of files that are written `later`.
    """
    there = [str(folder / name) for name in (*texts, *later) if (folder / name).exists()]
    if there:
        raise StoreError(f"already there: {listed(there)}; nothing was written; remove them, or give another folder")
    for name, text in {**texts, EDITOR_SCHEMA: case_file_schema()}.items():
        for_editors = f"# yaml-language-server: $schema={'../' * name.count('/')}{EDITOR_SCHEMA}\n"
        write_atomic(folder / name, (for_editors if name.endswith(SUFFIXES) else "") + text)
    return [folder / name for name in (*texts, EDITOR_SCHEMA)]


def document_patterns(paths: Sequence[Path]) -> list[Pattern]:
    """Return the paths that are documents, and a pattern for each kind of document below the folders."""
    found: list[Pattern] = []
    for path in paths:
        if path.is_file():
            found.append((path.parent, glob.escape(path.name)))
        elif path.is_dir() and path.resolve() != Path.cwd() and not any(path.rglob("*.extract.y*ml")):
            files = [file for file in path.rglob("*") if file.suffix.lower() in _DOCUMENTS and file.is_file()]
            kinds = {file.suffix for file in files if "/." not in f"/{file.relative_to(path).as_posix()}"}
            found += [(path, f"**/*{kind}") for kind in sorted(kinds)]
        elif not path.exists() and path.suffix.lower() in MEDIA_TYPES:
            raise ConfigError(f"{path} is not there")
    return found


def suite_path(patterns: Sequence[Pattern]) -> Path:
    """Return the case file that a suite of documents has by default: named after the folder of the first."""
    name = re.sub(r"[^\w.-]", "-", patterns[0][0].resolve().name).strip("-.") or "documents"
    return Path("cases") / f"{name}.extract.yaml"


def write_suite(patterns: Sequence[Pattern], suite: Path, schema: str | None) -> Path | None:
    """Write a suite with a case for each document; return the schema that is left to write, None where there is one.

    Raises ConfigError for names that cannot be used, StoreError where a file is there.
    """
    if not suite.name.endswith(SUFFIXES):
        raise ConfigError(f"--suite {suite}: the name of a case file ends in {' or '.join(SUFFIXES)}")
    named, others = f"{case_name(suite)}.schema.json", {}
    if schema is None:
        others[named] = _DRAFT_SCHEMA
    else:
        read_schema(schema)
        file, pointer = path_and_pointer(schema)
        named = _relative(Path(file), suite.parent) + (f"#{pointer}" if pointer else "")
    here = [f"{glob.escape(str(folder))}/{pattern}" for folder, pattern in patterns]
    cases = Counter(path for _, path in matched_documents(Path(), here))
    if shared := [name for name, documents in cases.items() if documents > 1]:
        advice = "name the folder above them, or rename one"
        raise ConfigError(f"several documents would be the case {listed(shared)}: {advice}")
    documents = [f"{glob.escape(_relative(folder, suite.parent))}/{pattern}" for folder, pattern in patterns]
    text = _SUITE.format(
        documents=json.dumps(documents, ensure_ascii=False), schema=json.dumps(named, ensure_ascii=False)
    )
    for path in _write(suite.parent, {suite.name: text, **others}):
        print_text(f"wrote {path}")
    return suite.parent / named if others else None


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


PLUGIN = "pytest_extract.plugin.named_extractors"


def draft_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="DOCS|CASES", help="documents, case files, or folders")
    parser.add_argument("--schema", metavar="SCHEMA", help="of documents: a file, or MODULE:CLASS of pydantic")
    parser.add_argument("--suite", type=Path, metavar="FILE", help="case file of the documents")
    parser.add_argument("--model", action="append", default=[], metavar="PROVIDER/NAME", help="a model; repeatable")
    parser.add_argument("--extractor", action="append", default=[], metavar="MODULE:FUNCTION", help="repeatable")
    parser.add_argument("--repeat", type=int, metavar="N", help="extract each document N times with each of them")
    parser.add_argument("--budget", type=float, metavar="USD", help="stop when this is spent; needed with --model")
    parser.add_argument("--dry-run", action="store_true", help="forecast calls and cost, and stop")
    parser.add_argument(
        "--pytest", action="append", default=[], metavar="OPTION", help="as --pytest=--extract-record=once"
    )


def run_draft(args: argparse.Namespace) -> int:
    """Draft the golds that are not there, and write beside each what is left to decide (`pytest-extract review`).

    Documents get a suite first, as by `pytest-extract init`. Without --model and --extractor, the suite's own
    `extractor` fixture is called. No gold that is there changes. Exit status: 0 all golds are there, 1 not all.
    """
    if args.model and args.extractor:
        raise ConfigError("give --model or --extractor, not both: they are called in different ways")
    if args.model and args.budget is None and not args.dry_run:
        raise ConfigError("--model needs --budget=USD, the most that its calls may cost; --dry-run forecasts it")
    suites = _suites(args)
    cases = load_all_cases(suites, SchemaCache(compile_structure, updates_golds="new"), "the cases have mistakes:")
    missing = [case.gold_path for case in cases if case.gold_is_missing]
    if not missing:
        print_text("every gold is there: nothing to draft")
        return 0
    options = [f"--extract-model={name}" for name in (*args.model, *args.extractor)]
    options += [f"--extract-repeat={args.repeat}"] if args.repeat is not None else []
    options += [f"--extract-budget={args.budget}"] if args.budget is not None else []
    options += ["-p", PLUGIN] if args.extractor else []
    command = [sys.executable, "-m", "pytest", *map(str, suites), "-q", "--tb=short", "-rN"]
    command += ["--extract-update-gold=new", *options, *args.pytest]
    if args.model or args.dry_run:
        forecast = subprocess.run([*command, "--extract-dry-run"], check=False)  # noqa: S603 - our own interpreter
        if args.dry_run or forecast.returncode not in (0, 5):
            return 0 if args.dry_run else 1
    subprocess.run(command, check=False)  # noqa: S603 - as above
    return 0 if all(path.exists() for path in missing) else 1


def _suites(args: argparse.Namespace) -> list[Path]:
    """Return the case files; those of documents are written first, unless they are there.

    The schema of a pydantic model is written beside the case file.
    """
    found: list[Path] = []
    documents: list[Path] = []
    for path in args.paths:
        cases = [path] if path.name.endswith(SUFFIXES) else [*case_files([path])] if path.is_dir() else []
        found += cases
        if not cases:
            documents.append(path)
    if not documents:
        refuse_options(args, "without documents", "schema", "suite")
        return found
    patterns = document_patterns(documents)
    if not patterns:
        raise ConfigError(f"neither documents nor case files: {', '.join(map(str, documents))}")
    suite = args.suite or suite_path(patterns)
    if not suite.exists():
        if args.schema is None:
            raise ConfigError(
                "documents need --schema: a file, or MODULE:CLASS of a pydantic model; golds that you have give one: "
                f"pytest-extract schema infer GOLD... -o {suite_path(patterns).with_suffix('').stem}.schema.json"
            )
        schema = args.schema
        if ":" in schema and not Path(path_and_pointer(schema)[0]).exists():
            path = suite.with_name(f"{re.split('[:.]', schema)[-1]}.schema.json")
            write_atomic(path, json.dumps(schema_of_class(schema), indent=2, ensure_ascii=False) + "\n")
            schema = str(path)
        write_suite(patterns, suite, schema)
    elif args.schema is not None:
        print_note("draft", f"{suite} is there, and names its own schema")
    return [*found, suite]


DATASETS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "extract-bench": ("datasets", ("target",)),
    "llama-extract-bench": ("datasets", ("target",)),
    "deepjsoneval": ("datasets", ()),
    "sob": ("sob", ("modality",)),
    "corrections": ("corrections", ("target",)),
}
"""Layout -> the module that has its importer, and what that takes beside the source."""


def import_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("dataset", choices=tuple(DATASETS), help="layout of SRC")
    parser.add_argument("source", type=Path, metavar="SRC", help="folder, JSONL file or .xlsx of the dataset")
    parser.add_argument("target", type=Path, metavar="DEST", help="folder for the case files")
    parser.add_argument("--modality", choices=MODALITIES, help="sob: of all records (default: as SRC says, else text)")


def run_import(args: argparse.Namespace) -> int:
    """Make case files from the files of a published dataset, or from what people corrected in production.

    Golds that break their own schema are kept, with `gates: {schema: false}` and a comment that says where. The
    responses of models that SOB's records hold are scored into a results file, which `leaderboard` ranks.
    """
    if not args.source.exists():
        raise ConfigError(f"{args.source} is not there")
    module, takes = DATASETS[args.dataset]
    if "modality" not in takes:
        refuse_options(args, f"for {args.dataset}", "modality")
    importer: Any = importlib.import_module(f"pytest_extract.importers.{module}")
    make = getattr(importer, f"import_{args.dataset.replace('-', '_')}")
    made: Imported = make(args.source, **{name: getattr(args, name) for name in takes})
    written = _write(args.target, made.texts, *([importer.RESPONSES_FILE] if args.dataset == "sob" else []))
    for note in made.notes:
        print_note("import", note)
    files = [path for path in written if path.name.endswith(SUFFIXES)]
    print_text(f"{plural(len(made.records), 'case')} in {', '.join(map(str, files))}")
    broken = sum(each.problem is not None for each in made.records)
    if broken:
        print_text(f"golds that break their own schema, so that the schema gates of their cases are off: {broken:,}")
    judged = sum(each.judged for each in made.records)
    if judged:
        print_text(f"cases with fields that only a judge can compare ({GIVE_A_JUDGE}): {judged:,}")
    if any(each.responses for each in made.records):
        _score_responses(made.records, files[0], args.target / importer.RESPONSES_FILE)
    return 0


def _score_responses(records: Sequence[Record], file: Path, target: Path) -> None:
    """Write the results of the published responses, under the ids that their cases have in a pytest run from here."""
    from pytest_extract.bulk import BulkScorer, score_records
    from pytest_extract.results import write_results

    name = display_path(file.resolve(), Path.cwd().resolve())
    documents = {case.id: case.document.sha256 for case in load_cases(file).cases}
    results: list[CaseResult] = []
    for gates in (None, {"schema": False}):
        rows = [
            {"modality": each.keys["modality"], "gold": json.dumps(each.keys["gold"]), **response}
            for each in records
            if each.keys.get("gates") == gates
            for response in each.responses
        ]
        scored = score_records(BulkScorer(name=name, gates=gates), rows)
        results += (replace(result, digests={"document": documents[result.case_id]}) for result in scored)
    write_results(target, results)
    models = len({result.variant for result in results})
    ranked = f"pytest-extract leaderboard {target}"
    print_text(f"{plural(len(results), 'response')} of {plural(models, 'model')} scored; rank them: {ranked}")
