"""`pytest-extract import DATASET SRC DEST`: makes case files from a published dataset, or from corrections."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_extract.cli.files import print_note, print_text, refuse_options
from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.gates import MODALITIES
from pytest_extract.core.judges import GIVE_A_JUDGE
from pytest_extract.core.values import Json, Missing, path_text
from pytest_extract.errors import ConfigError
from pytest_extract.golds.changes import changed_leaves
from pytest_extract.importers import Imported, ImportFolder
from pytest_extract.report.lines import plural, safe_prose
from pytest_extract.report.values import first_difference, show

DATASETS = ("extract-bench", "llama-extract-bench", "deepjsoneval", "sob", "corrections")
_WIDTH = 200


def import_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("dataset", choices=DATASETS, help="layout of SRC")
    parser.add_argument("source", type=Path, metavar="SRC", help="folder, JSONL file or .xlsx of the dataset")
    parser.add_argument("target", type=Path, metavar="DEST", help="folder for the case files")
    parser.add_argument("--copy", action="store_true", help="extract-bench: copy documents, schemas and golds there")
    parser.add_argument("--modality", choices=MODALITIES, help="sob: of all records (default: as SRC says, else text)")
    parser.add_argument("--force", action="store_true", help="overwrite files; show the gold values that change")


def run_import(args: argparse.Namespace) -> int:
    """Make case files from the files of a published dataset, or from what people corrected in production.

    Golds that break their own schema are kept, with `gates: {schema: false}` and a comment that says where. The
    responses of models that SOB's records hold are scored into a results file, which `leaderboard` ranks.
    """
    if not args.source.exists():
        raise ConfigError(f"{args.source} is not there")
    if args.dataset != "extract-bench":
        refuse_options(args, f"for {args.dataset}, only for extract-bench", "copy")
    if args.dataset != "sob":
        refuse_options(args, f"for {args.dataset}, only for sob", "modality")
    made = _import_dataset(args)
    for note in made.notes:
        print_note("import", note)
    files = ", ".join(str(path) for path in made.files if path.suffix == ".yaml")
    print_text(f"{plural(len(made.records), 'case')} in {files}")
    for count, what in (
        (made.broken, "golds that break their own schema, so that the schema gates of their cases are off"),
        (made.uncompared, "golds with values that are compared with nothing, as told above"),
        (made.judged, f"cases with fields that only a judge can compare ({GIVE_A_JUDGE})"),
    ):
        if count:
            print_text(f"{what}: {count:,}")
    if made.responses:
        _score_responses(made, args.target)
    return 0


def _show_replaced(where: str, old: Json, new: Json | Missing) -> None:
    """Print each value of a gold that is about to be replaced."""
    for steps, before, after in changed_leaves(old, new):
        at = first_difference(before, after) if isinstance(before, str) and isinstance(after, str) else 0
        values = " -> ".join(show(side, _WIDTH, at=at) for side in (before, after))
        print_text(f"{safe_prose(where)}: {safe_prose(path_text(steps))}: {values}")


def _score_responses(made: Imported, folder: Path) -> None:
    """Write the results of the published responses, under the ids that their cases have in a pytest run from here."""
    from pytest_extract.bulk import BulkScorer, score_records
    from pytest_extract.cases.load import load_cases
    from pytest_extract.cases.schemas import SchemaCache
    from pytest_extract.core.scorer import compile_schema
    from pytest_extract.importers.sob import RESPONSES_FILE
    from pytest_extract.results import write_results

    results: list[CaseResult] = []
    here = Path.cwd().resolve()
    for each in made.responses:
        file = each.file.resolve()
        name = (file.relative_to(here) if file.is_relative_to(here) else file).as_posix()
        documents = {case.id: case.document.sha256 for case in load_cases(file, SchemaCache(compile_schema)).cases}
        results += (
            replace(result, digests={"document": documents[result.case_id]})
            for result in score_records(BulkScorer(name=name, gates=each.gates), each.records)
        )
    write_results(folder / RESPONSES_FILE, results)
    models = len({result.variant for result in results})
    ranked = f"pytest-extract leaderboard {folder / RESPONSES_FILE}"
    print_text(f"{plural(len(results), 'response')} of {plural(models, 'model')} scored; rank them: {ranked}")


def _import_dataset(args: argparse.Namespace) -> Imported:
    """Call the dataset's importer: that of `llama-extract-bench` is `datasets.import_llama_extract_bench`."""
    name = args.dataset.replace("-", "_")
    module = name if name in {"sob", "corrections"} else "datasets"
    importer: Any = importlib.import_module(f"pytest_extract.importers.{module}")
    target = ImportFolder(folder=args.target, force=args.force, show_replaced=_show_replaced)
    options = {"extract-bench": {"copy": args.copy}, "sob": {"modality": args.modality}}.get(args.dataset, {})
    made: Imported = getattr(importer, f"import_{name}")(args.source, target, **options)
    return made
