"""What a failing case costs around its scoring, in multiples of `json.loads` of gold and output together.

    python tests/benchmarks/bench_results.py [--times 10] [--no-run]

Documents are made here, in the shapes of real ones: a 10-Q (1,328 leaves), a research paper with lists inside rows, one
list of 1,081 texts, and 525 small cases with a schema each, of which the sums are shown. All outputs have 8 wrong values
(the small ones 1). Times are the shortest of several rounds, in milliseconds of the processor.

A whole run is a pytest in this process, from the case file to terminal and results file; its row is what each further
failing case adds. Target: 50 ms for a 10-Q.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench_score import best, mistaken
from documents import filing, paper, small, texts

from pytest_extract import compile_schema
from pytest_extract.core.case_result import Arm, Attempt, CaseResult, Outcome
from pytest_extract.core.scorer import Scorer
from pytest_extract.redact.secrets import current
from pytest_extract.regression.snapshots import snapshot
from pytest_extract.report.diff import DiffOptions, case_lines
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import text_of
from pytest_extract.report.run_report import RunReport
from pytest_extract.results import dump_result, dump_safely, load_result

SMALL = 525
EXTRACTOR = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    return lambda document: document.text
"""


class Sample(NamedTuple):
    """One comparison and all that is worked out before what is timed."""

    scorer: Scorer
    gold: Any
    output: Any
    texts: tuple[str, str]
    score: Any
    plain: Any
    result: CaseResult
    line: str


def sample(document: tuple[Any, Any], wrong: int, number: int = 0) -> Sample:
    """Score an output with so many wrong values, and wrap the score as a run does."""
    schema, gold = document
    scorer = compile_schema(schema, judge_mode="fuzzy")
    output = json.loads(json.dumps(mistaken(gold, wrong)))
    score = scorer.score(gold, output)
    plain = score.to_dict()
    attempt = Attempt(index=0, outcome=Outcome.FAILED, score=score.record(), output=output)
    result = CaseResult(
        nodeid=f"a.extract.yaml::{number}", case_id=str(number), file="a.extract.yaml", arm=Arm(),
        outcome=Outcome.FAILED, attempts=(attempt,), why="pass_rate 0.9 is below 1",
    )  # fmt: skip
    return Sample(
        scorer, gold, output, (json.dumps(gold), json.dumps(output)), score, plain, result, dump_result(result)
    )


def actions(samples: list[Sample]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is timed: the yardstick first, each over all samples."""
    look = DiffOptions(width=100)
    yield "json.loads of gold and output", lambda: [json.loads(text) for each in samples for text in each.texts]
    yield (
        "score: field and leaf results",
        lambda: [each.scorer.score(each.gold, each.output).leaves for each in samples],
    )
    yield "score: all measures", lambda: [each.scorer.score(each.gold, each.output).measures for each in samples]
    yield "dump: the score as plain JSON (to_dict)", lambda: [each.score.to_dict() for each in samples]
    yield "dump: json.dumps of it", lambda: [json.dumps(each.plain) for each in samples]
    yield "dump: search for secrets in it", lambda: [current().find(each.line) for each in samples]
    yield "dump: the whole line of the results file", lambda: [dump_safely(each.result) for each in samples]
    yield "read the line of the results file", lambda: [load_result(each.line) for each in samples]
    yield "diff text", lambda: [text_of(line) for each in samples for line in case_lines(each.result, look)]
    yield "snapshot for the gate", lambda: snapshot([each.result for each in samples])
    yield "HTML page of the cases", lambda: page(RunReport(results=[each.result for each in samples]))


def measure(name: str, samples: list[Sample], times: int) -> None:
    """Print a row for each thing that happens to a result."""
    labels, calls = zip(*actions(samples), strict=True)
    unit, *taken = best([*calls], times=times)
    leaves = sum(len(each.score.leaves) for each in samples)
    print(f"\n{name}: {leaves:,} leaves; {labels[0]}: {unit:.3f} ms", flush=True)
    for label, took in zip(labels[1:], taken, strict=True):
        print(f"  {label:<46}{took:>9.2f} ms{took / unit:>9.1f}x", flush=True)


# --- a whole run


def write_cases(folder: Path, documents: list[tuple[Any, Any]], wrong: int) -> None:
    """Write one file of cases whose document is the output that the extractor gives back."""
    (folder / "conftest.py").write_text(EXTRACTOR, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    cases = []
    for number, (schema, gold) in enumerate(documents):
        parts = {"document": mistaken(gold, wrong), "schema": schema, "gold": gold}
        for what, value in parts.items():
            (folder / f"{number}.{what}.json").write_text(json.dumps(value), encoding="utf-8")
        cases.append({"id": str(number), **{what: f"{number}.{what}.json" for what in parts}})
    (folder / "a.extract.yaml").write_text(json.dumps({"cases": cases}), encoding="utf-8")


def run_pytest(folder: Path, *options: str) -> str:
    """Run the cases of a folder in this process and return what the terminal got."""
    off = [part for name in ("cacheprovider", "randomly", "asyncio", "xdist") for part in ("-p", f"no:{name}")]
    terminal = io.StringIO()
    with contextlib.redirect_stdout(terminal), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # modules that an earlier run here has imported cannot be rewritten again
        pytest.main([str(folder), f"--rootdir={folder}", "--import-mode=importlib", *off, *options])
    return terminal.getvalue()


def further_case(documents: list[tuple[Any, Any]], wrong: int, *options: str, times: int) -> float:
    """Return what one more failing case costs: a run of all cases against a run of the first."""
    with tempfile.TemporaryDirectory() as name:
        folders = []
        for cases in (documents[:1], documents):
            folder = Path(name).resolve() / str(len(cases))
            folder.mkdir()
            write_cases(folder, cases, wrong)
            folders.append(folder)
            told = run_pytest(folder, *options_in(folder, options))
            if f"{len(cases)} failed" not in told:
                raise RuntimeError(f"not every case failed:\n{told[-2000:]}")
        one, all_of_them = best(
            [lambda folder=folder: run_pytest(folder, *options_in(folder, options)) for folder in folders], times=times
        )
    return (all_of_them - one) / (len(documents) - 1)


def options_in(folder: Path, options: tuple[str, ...]) -> list[str]:
    """Return options with the folder put in their paths."""
    return [option.replace("FOLDER", str(folder)) for option in options]


def measure_runs(times: int) -> None:
    """Print what a further failing case adds to a real run."""
    print("\na real run: what each further failing case adds", flush=True)
    results = "--extract-results=FOLDER/results.jsonl"
    for name, documents, wrong in (
        ("a 10-Q, 8 wrong", [filing(seed) for seed in range(5)], 8),
        ("a paper, 8 wrong", [paper(seed) for seed in range(5)], 8),
        ("1,081 texts, 8 wrong", [texts(seed) for seed in range(5)], 8),
        ("a small case with its own schema, 1 wrong", [small(seed) for seed in range(106)], 1),
    ):
        dumped = [json.dumps(gold) for _, gold in documents]
        unit = best([lambda dumped=dumped: [json.loads(text) for text in dumped * 2]], times=3)[0] / len(documents)
        took = further_case(documents, wrong, results, times=times)
        target = ("   <= 50 ms" if took <= 50 else "   > 50 ms") if "10-Q" in name else ""
        print(f"  {name:<46}{took:>9.2f} ms{took / unit:>9.1f}x{target}", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="rounds of each timing")
    parser.add_argument("--no-run", action="store_true", help="leave out the real runs")
    options = parser.parse_args()
    measure("a 10-Q, 8 wrong", [sample(filing(), 8)], options.times)
    measure("a paper, 8 wrong", [sample(paper(), 8)], options.times)
    measure("1,081 texts, 8 wrong", [sample(texts(), 8)], options.times)
    cases = [sample(small(number), 1, number) for number in range(SMALL)]
    measure(f"{SMALL} small cases, each with its own schema, 1 wrong", cases, max(options.times // 3, 1))
    if not options.no_run:
        measure_runs(max(options.times // 3, 1))


if __name__ == "__main__":
    main()
