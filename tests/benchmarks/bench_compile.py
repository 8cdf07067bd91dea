"""Compiling schemas: 525 small cases, each with its own schema, in multiples of `json.loads` of gold and output.

    python tests/benchmarks/bench_compile.py [--times 9] [--profile]

The cases are made here, in the shape of DeepJSONEval's: twelve leaves, sixteen schema nodes with titles and
descriptions; each output has one wrong value. Nothing is kept between rounds: every schema is a new object with new
content. Target: compile and score within 12x. Times are the shortest of rounds in which all take turns, in milliseconds of
the processor.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
from itertools import count
from typing import Any

from bench_score import best, mistaken
from documents import described

from pytest_extract import compile_schema

CASES = 525
_NUMBERS = count()


def new_schema(schema: Any) -> Any:
    """Return the schema with a content that has not been compiled before."""
    return {**schema, "$comment": str(next(_NUMBERS))}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=9, help="rounds of each timing")
    parser.add_argument("--profile", action="store_true", help="show where the time of compiling goes")
    options = parser.parse_args()
    cases = [(schema, gold, mistaken(gold, 1)) for schema, gold in map(described, range(CASES))]
    texts = [(json.dumps(gold), json.dumps(output)) for _, gold, output in cases]
    scorers = [compile_schema(schema) for schema, _, _ in cases]
    took = best(
        [
            lambda: [json.loads(text) for pair in texts for text in pair],
            lambda: [compile_schema(new_schema(schema)) and None for schema, _, _ in cases],
            lambda: [
                scorer.score(gold, output).leaves and None
                for scorer, (_, gold, output) in zip(scorers, cases, strict=True)
            ],
            lambda: [
                compile_schema(new_schema(schema)).score(gold, output).leaves and None for schema, gold, output in cases
            ],
            lambda: [
                compile_schema(new_schema(schema)).score(gold, output).measures and None
                for schema, gold, output in cases
            ],
            lambda: [compile_schema({**schema}) and None for _ in range(15) for schema, _, _ in cases[:35]],
        ],
        times=options.times,
    )
    names = (
        "json.loads of gold and output",
        "compile",
        "score, prepared",
        "compile and score",
        "compile and score, all measures",
        "compile schemas that were compiled before",
    )
    for name, time in zip(names, took, strict=True):
        print(f"{name:<46}{time:>9.1f} ms{time / took[0]:>8.1f}x", flush=True)
    if options.profile:
        profile = cProfile.Profile()
        profile.enable()
        for schema, _, _ in cases:
            compile_schema(new_schema(schema))
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    main()
