"""Outputs made to keep a parser busy: each has its kind, and what it costs grows with its length only."""

from __future__ import annotations

import tracemalloc

import pytest

from pytest_extract import score_text
from pytest_extract.core.parse import MOST_PLACES, parse_output
from tests.cpu_time import cpu_seconds

SIZE = 600_000


def repeated(unit, size=SIZE):
    return unit * (size // len(unit))


# Each takes a fraction of a second; where the work grows with the square of the length, minutes.
HOSTILE = {
    "prose with braces": (repeated("text { not json } and [ also ] "), "no_json"),
    "prose with bare keys": (repeated("x {a: b} "), "malformed_json"),
    "prose with objects": (repeated('x {"a": 1} '), None),
    "lists left open": (repeated("see [1, [2, "), "no_json"),
    "nested lists of numbers left open": ("see " + "[1," * 900 + "1," * SIZE, "no_json"),
    "fences around nothing": (repeated("```json\n{\n```\n"), "truncated_json"),
    "fences left open": (repeated('```json\n{"a": \n'), "truncated_json"),
    "JSON lines": (repeated('{"a": 1}\n'), None),
    "empty lists": (repeated("[]"), "malformed_json"),
    "thoughts in prose": (repeated("text <think>a</think>\n") + '{"a": 1}', "no_json"),
    "value before braces": ('{"a": 1} ' + repeated("{ x "), None),
    "opening brackets": ("[" * 10 * SIZE, "malformed_json"),
    "opening braces and quotes": ('{"' * SIZE, "malformed_json"),
    "blanks": (" " * 10 * SIZE, "empty_response"),
    "byte order marks": ("\ufeff" * SIZE, "empty_response"),
    "backticks": ("`" * SIZE, "no_json"),
    "fences and blanks": (repeated("```" + " " * 997), "no_json"),
    "list with a mistake at its end": ("[" + repeated('"value", ') + "]", "trailing_comma"),
    "objects with a mistake at the end": ("[" + repeated('{"k": "v"}, ') + "]", "trailing_comma"),
    "cut off": ("[" + repeated("[[1]],"), "truncated_json"),
    "NaN at the end": ("[" + repeated("1,") + "NaN]", "malformed_json"),
    "repeated key": ("{" + ",".join(f'"{i}":0' for i in range(60_000)) + ',"7":1}', "duplicate_key"),
    "quotes": ("[" + '"' * SIZE, "malformed_json"),
    "escapes": ('{"a": "' + "\\\\" * SIZE, "truncated_json"),
    "digits": ('{"a": ' + "1" * SIZE + "}", "malformed_json"),
    "depth": ("{" + '"a": ' + "[" * SIZE, "malformed_json"),
    "pairs-of-brackets-too-deep": ("[" * 400 + repeated("[],"), "malformed_json"),
}


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize(("text", "kind"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_has_its_kind(text, kind):
    failure = parse_output(text).failure
    assert (failure.kind if failure else None) == kind


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["`", '{"a": 1}\n', "{a: b} "], ids=lambda unit: unit[:4])
def test_what_a_search_keeps_does_not_grow_with_the_text(unit):
    text = "x" + repeated(unit, 15_000_000)
    tracemalloc.start()
    parse_output(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * len(text)


def test_a_search_through_prose_ends_after_so_many_places():
    parsed = parse_output('{"a": 1} ' * (MOST_PLACES + 10))
    assert any(note.startswith("more than") for note in parsed.notes)
    assert not any(note.startswith("more than") for note in parse_output('{"a": 1} ' * 100).notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + "[1,]," * 200_000 + "]", id="trailing commas"),
        pytest.param("{" + ",".join(f"'k{n}': 'v'" for n in range(80_000)) + "}", id="single quotes"),
        pytest.param("[" + '{"a": 1, "b": 2},' * 100_000, id="cut off"),
        pytest.param("{" + '"a": 1,' * 200_000 + "}", id="repeated keys"),
        pytest.param("[None," * 150 + "None," * 400_000, id="Python's words"),
    ],
)
def test_repair_of_a_megabyte_ends_soon(text):
    assert cpu_seconds(lambda: parse_output(text, repair=True), calls=1) < 5


def test_repair_reads_as_many_values_as_are_scored():
    wrong = "[" + "1," * 60 + "]"
    schema = {"type": "array", "items": {"type": "integer"}}
    assert score_text(schema, [1] * 60, wrong, repair=True, max_output_bytes=400).measures["pass_rate"] == 1.0
    failure = score_text(schema, [1], wrong, repair=True, max_output_bytes=400).failure
    assert failure.kind == "output_too_large"
    assert "max_output_bytes" in failure.message
