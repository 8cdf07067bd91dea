"""Hostile outputs of models: `python tests/fuzz outputs`.

Each is made by code and scored in a process of its own with a bounded CPU time: parsed, gated, scored, told as a diff,
and written as a line of the results file. Printed: size, failure kind, CPU seconds of scoring and of telling, and the
memory that both took beyond the output itself. Exit status 1 when one takes more than `--limit` seconds (2), ends
otherwise than a failure kind or a score, or gets another kind than it should.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.core.schemas import NUMBER, TEXT, array, obj, table
from tests.fuzz.table import parser_of, put_row, quiet_env

LIMIT_S = 2.0
STOP_S = 20
MOST_BYTES = 6 * 10**9
MB = 1_000_000
SCHEMA = obj(vendor=TEXT, total=NUMBER, items=table(name=TEXT, price=NUMBER), tags=array(TEXT))
GOLD: dict[str, Any] = {
    "vendor": "ACME GmbH",
    "total": 12.5,
    "items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10}, {"name": "Nail", "price": 0.1}],
    "tags": ["a", "b", "c"],
}
RIGHT = json.dumps(GOLD)


@dataclass(frozen=True)
class Output:
    """One output: how it is made, and the kinds that it may get: failure kinds, `scored`, `error`; empty: any."""

    name: str
    make: Callable[[], Any]
    kinds: frozenset[str] = frozenset()
    repair: bool = False
    finish_reason: str | None = None
    big: bool = False


OUTPUTS: dict[str, Output] = {}


def _add(name: str, make: Callable[[], Any], kinds: str = "", **how: Any) -> None:
    OUTPUTS[name] = Output(name, make, frozenset(kinds.split()), **how)


def _deep(depth: int, begin: str = "[", end: str = "]", core: str = "1") -> Callable[[], str]:
    return lambda: begin * depth + core + end * depth


def _rows(count: int) -> Callable[[], str]:
    row = {"name": "Bolt", "price": 2.5}
    return lambda: json.dumps({**GOLD, "items": [{**row, "name": f"Bolt {n}"} for n in range(count)]})


def _noise(size: int, alphabet: str, seed: int) -> Callable[[], str]:
    return lambda: "".join(random.Random(seed).choices(alphabet, k=size))


class _Mapping(dict):  # type: ignore[type-arg]
    """A dict of another name."""


def _cycle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _small() -> None:
    """Outputs that cost next to nothing to read; what matters is the kind."""
    scored = "scored"
    _add("right", lambda: RIGHT, scored)
    _add("right, as bytes", RIGHT.encode, scored)
    _add("right, as a dict", lambda: GOLD, scored)
    _add("right, pretty", lambda: json.dumps(GOLD, indent=4), scored)
    _add("nothing", lambda: None, "empty_response")
    _add("empty", lambda: "", "empty_response")
    _add("blanks", lambda: " \n\t ", "empty_response")
    _add("NUL", lambda: "\0", "no_json malformed_json empty_response")
    _add("byte order mark alone", lambda: "\ufeff", "empty_response")
    _add("byte order mark before", lambda: "\ufeff" + RIGHT, scored)
    _add("byte order mark behind", lambda: RIGHT + "\ufeff")
    _add("UTF-8 mark in bytes", lambda: b"\xef\xbb\xbf" + RIGHT.encode(), scored)
    _add("UTF-16 bytes", lambda: RIGHT.encode("utf-16"))
    _add("UTF-16 without mark", lambda: RIGHT.encode("utf-16-le"))
    _add("UTF-32 bytes", lambda: RIGHT.encode("utf-32"))
    _add("Latin-1 bytes", lambda: '{"vendor": "Größe", "total": 12.5}'.encode("latin-1"), scored)
    _add("random bytes", lambda: random.Random(1).randbytes(2_000))
    _add("fence", lambda: f"```json\n{RIGHT}\n```", scored)
    _add("fence without a name", lambda: f"```\n{RIGHT}\n```", scored)
    _add("fence of another name", lambda: f"```JSON5\n{RIGHT}\n```", scored)
    _add("fence never closed", lambda: f"```json\n{RIGHT}", scored)
    _add("fence in a fence", lambda: f"````\n```json\n{RIGHT}\n```\n````", scored)
    _add("fence of tildes", lambda: f"~~~json\n{RIGHT}\n~~~", scored)
    _add("fence in a text value", lambda: json.dumps({**GOLD, "vendor": "```json\n{}\n```"}), scored)
    _add("empty fence", lambda: "```json\n```")
    _add("prose around", lambda: f"Sure, here it is: {RIGHT} Anything else?", scored)
    _add("prose with braces", lambda: f"Use {{name}} like [this]: {RIGHT} {{done}}", scored)
    _add("prose alone", lambda: "I could not find any invoice in this document.", "no_json")
    _add("reasoning before", lambda: f"<think>maybe {{}} or [1]</think>{RIGHT}", scored)
    _add("reasoning never closed", lambda: f"<think>maybe {RIGHT}")
    _add("two documents", lambda: f"{RIGHT}\n{RIGHT}")
    _add("two documents that differ", lambda: RIGHT + '\n{"vendor": "Other"}')
    _add("JSON lines", lambda: "\n".join([RIGHT] * 20))
    _add("comma between two", lambda: f"{RIGHT}, {RIGHT}")
    _add("encoded twice", lambda: json.dumps(RIGHT), "not_structured")
    _add("encoded twice, repaired", lambda: json.dumps(RIGHT), "not_structured", repair=True)
    _add("a bare number", lambda: "12.5", "not_structured")
    _add("a bare text", lambda: '"ACME"', "not_structured")
    _add("null", lambda: "null", "not_structured")
    _add("a list of the wrong kind", lambda: "[1, 2, 3]", "scored schema_violation not_structured")
    _add("trailing comma", lambda: RIGHT[:-1] + ",}", "trailing_comma")
    _add("trailing comma, repaired", lambda: RIGHT[:-1] + ",}", scored, repair=True)
    _add("comma twice", lambda: RIGHT.replace(",", ",,", 1), "malformed_json trailing_comma")
    _add("comment", lambda: "{ // the vendor\n" + RIGHT[1:], "malformed_json")
    _add("comment, repaired", lambda: "{ /* the vendor */" + RIGHT[1:], scored, repair=True)
    _add("single quotes", lambda: str(GOLD), "malformed_json")
    _add("single quotes, repaired", lambda: str(GOLD), "malformed_json", repair=True)
    _add("curly quotes", lambda: RIGHT.replace('"', "\u201d"))
    _add("keys without quotes", lambda: '{vendor: "ACME GmbH"}', "malformed_json")
    _add("Python words", lambda: '{"vendor": None, "total": True}', "malformed_json")
    _add("NaN", lambda: '{"total": NaN}', "malformed_json")
    _add("Infinity", lambda: '{"total": -Infinity}', "malformed_json")
    _add("NaN in a dict", lambda: {"total": float("nan")})
    _add("1e400", lambda: '{"total": 1e400}')
    _add("leading zeros", lambda: '{"total": 0012}', "malformed_json")
    _add("plus sign", lambda: '{"total": +12}', "malformed_json")
    _add("hexadecimal", lambda: '{"total": 0x1F}', "malformed_json")
    _add("a number that ends in a point", lambda: '{"total": 12.}', "malformed_json")
    _add("401 digits", lambda: '{"total": ' + "9" * 401 + "}", "scored")
    _add("401 digits for a text", lambda: '{"vendor": ' + "9" * 401 + "}", "schema_violation")
    _add("5,000 digits", lambda: '{"total": ' + "9" * 5_000 + "}")
    _add("10^400 in a dict", lambda: {"total": 10**400})
    _add("10^5000 in a dict", lambda: {"vendor": 10**5000, "tags": [10**5000]})
    _add("exponent of 10^6 digits", lambda: '{"total": 1e' + "9" * 10**6 + "}")
    _add("key twice", lambda: '{"vendor": "A", "vendor": "B"}', "duplicate_key")
    _add("key twice, repaired", lambda: '{"vendor": "A", "vendor": "B"}', "duplicate_key", repair=True)
    _add("key twice, once escaped", lambda: '{"vendor": "A", "\\u0076endor": "B"}', "duplicate_key")
    _add("key twice deep down", lambda: '{"items": [{"name": "a", "name": "a"}]}', "duplicate_key")
    _add("cut in a text", lambda: RIGHT[:12], "truncated_json")
    _add("cut after a key", lambda: RIGHT[:9], "truncated_json")
    _add("cut after a comma", lambda: RIGHT[: RIGHT.index(",") + 1], "truncated_json trailing_comma")
    _add("cut in an escape", lambda: '{"vendor": "a\\u00', "truncated_json malformed_json")
    _add("cut in a number", lambda: '{"total": 12', "truncated_json")
    _add("cut in a word", lambda: '{"total": nul', "truncated_json malformed_json")
    _add("cut at the limit of tokens", lambda: RIGHT[:40], "truncated_json", finish_reason="length")
    _add("cut, repaired", lambda: RIGHT[:60], repair=True)
    _add("stopped by the filter", lambda: RIGHT[:30], "refusal", finish_reason="content_filter")
    _add("bracket of the other kind", lambda: RIGHT[:-1] + "]", "malformed_json")
    _add("one bracket too many", lambda: RIGHT + "}", "malformed_json")
    _add("raw newline in a text", lambda: '{"vendor": "ACME\nGmbH"}', "malformed_json")
    _add("raw control characters", lambda: '{"vendor": "\x00\x01\x1b[31m"}', "malformed_json")
    _add("escaped control characters", lambda: '{"vendor": "\\u0000\\u001b[31m\\u202e\\u2028"}', scored)
    _add("bad escape", lambda: '{"vendor": "C:\\path"}', "malformed_json")
    _add("lone surrogate", lambda: '{"vendor": "\\ud800", "tags": ["\\udc00\\ud800"]}', scored)
    _add("lone surrogate as it is", lambda: '{"vendor": "\ud800"}', scored)
    _add("bidi and zero width", lambda: '{"vendor": "\u202eHbmG\u200b EMCA\u202c"}', scored)
    _add("10,000 combining marks", lambda: json.dumps({"vendor": "a" + "\u0301" * 10_000}), scored)
    keys = ("", "a.b", "[0]", '"', "\x1b[2J", "\ud800")
    _add("hostile keys", lambda: json.dumps({**dict.fromkeys(keys, 1), "items": {"0": {}}}))
    _add("prototype keys", lambda: '{"__proto__": {"x": 1}, "constructor": 2, "__class__": 3}')
    _add("markup", lambda: json.dumps({"vendor": "</script><img src=x onerror=alert(1)>"}), scored)
    _add("HTML page", lambda: "<!doctype html><html><body>502 Bad Gateway {}</body></html>")
    _add("XML", lambda: "<invoice><vendor>ACME</vendor></invoice>", "no_json")
    _add("YAML", lambda: "vendor: ACME GmbH\ntotal: 12.5\n", "no_json")
    _add("CSV", lambda: "vendor,total\nACME,12.5\n", "no_json")
    _add("a set", lambda: {1, 2}, "malformed_json error")
    _add("an object", object, "malformed_json error")
    _add("a dict of another class", lambda: _Mapping(GOLD))
    _add("a tuple", lambda: (1, 2))
    _add("keys that are no texts", lambda: {1: 2, None: 3})
    _add("a cycle", _cycle)
    wrong = {"vendor": [1], "total": {"a": 1}, "items": "x", "tags": {"0": "a"}}
    _add("all types wrong", lambda: json.dumps(wrong), "schema_violation")
    _add("empty object", lambda: "{}", "scored schema_violation")


def _large() -> None:
    """Outputs whose size or depth is the attack; what matters is time and memory."""
    big: dict[str, Any] = {"big": True}
    for depth in (199, 201, 1_000, 100_000, 10**6):
        _add(f"{depth:,} lists deep", _deep(depth))
        _add(f"{depth:,} objects deep", _deep(depth, '{"a":', "}"))
    _add("200 deep in a field", lambda: json.dumps({"vendor": json.loads("[" * 190 + "]" * 190)}))
    _add("100,000 brackets open", lambda: "[" * 100_000)
    _add("100,000 brackets close", lambda: "]" * 100_000)
    _add("1 MB of a text", lambda: json.dumps({"vendor": "x" * MB}), "scored", **big)
    _add("50 MB of a text", lambda: json.dumps({"vendor": "x" * 50 * MB}), **big)
    _add("10 MB of escapes", lambda: '{"vendor": "' + "\\u0041" * (10 * MB // 6) + '"}', **big)
    _add("10 MB of escaped quotes", lambda: '{"vendor": "' + '\\"' * (5 * MB) + '"}', **big)
    _add("10 MB of backslashes", lambda: '{"vendor": "' + "\\\\" * (5 * MB), **big)
    for size in (MB // 16, MB // 4, 5 * MB // 8, 10 * MB):
        part = "text { not json } and [ also ] "
        _add(f"{size // 1000:,} KB of prose with braces", lambda n=size, p=part: p * (n // len(p)), **big)
    _add("10 MB of prose", lambda: "There is no invoice here, I am afraid. " * (10 * MB // 39), "no_json", **big)
    _add("50 MB of prose, then JSON", lambda: "no invoice " * (50 * MB // 11) + RIGHT, **big)
    _add("JSON, then 10 MB of prose", lambda: RIGHT + " and so on" * MB, **big)
    _add("50 MB of [", lambda: "[" * 50 * MB, **big)
    _add("50 MB of {", lambda: "{" * 50 * MB, **big)
    _add('50 MB of {"', lambda: '{"' * 25 * MB, **big)
    _add("50 MB of ]", lambda: "]" * 50 * MB, **big)
    _add("50 MB of blanks", lambda: " " * 50 * MB, **big)
    _add("50 MB of lines", lambda: "\n" * 50 * MB, **big)
    _add("50 MB of blanks, then JSON", lambda: " " * 50 * MB + RIGHT, **big)
    _add("50 MB of backticks", lambda: "`" * 50 * MB, **big)
    _add("50 MB of backtick lines", lambda: "```\n" * (50 * MB // 4), **big)
    _add("50 MB of NUL", lambda: "\0" * 50 * MB, **big)
    _add("50 MB of quotes", lambda: '"' * 50 * MB, **big)
    _add("50 MB of commas", lambda: "[" + "," * 50 * MB, **big)
    _add("50 MB of 1,", lambda: "[" + "1," * 25 * MB + "1]", **big)
    _add("50 MB of <think>", lambda: "<think>" * (50 * MB // 7), **big)
    _add("10 MB of </think>", lambda: "</think>{" * (10 * MB // 9), **big)
    _add("50 MB of JSON rows", _rows(1_200_000), **big)
    _add("50 MB of a list of texts", lambda: json.dumps({"tags": ["abcdefgh"] * 4_000_000}), **big)
    _add("1 MB of digits", lambda: '{"total": ' + "7" * MB + "}", **big)
    _add("1 MB of digits, repaired", lambda: '{"total": ' + "7" * MB + "}", repair=True, **big)
    _add("10,000 fences", lambda: f"```json\n{RIGHT}\n```\n" * 10_000, **big)
    _add("100,000 fences, none closed", lambda: "```json\n{" * 100_000, **big)
    _add("10,000 documents", lambda: RIGHT * 10_000, **big)
    _add("100,000 tiny documents", lambda: "{} " * 100_000, **big)
    _add("10,000 rows", _rows(10_000), "scored", **big)
    _add("100,000 strings", lambda: json.dumps({"tags": [f"t{n}" for n in range(100_000)]}), **big)
    _add("100,000 invented keys", lambda: json.dumps({f"k{n}": n for n in range(100_000)}), **big)
    _add("100,000 invented keys in a row", lambda: json.dumps({"items": [{f"k{n}": n for n in range(100_000)}]}), **big)
    one_key = "{" + ",".join(['"vendor": "A"'] * 100_000) + "}"
    _add("the same key 100,000 times", lambda: one_key, "duplicate_key", **big)
    _add("the same key 100,000 times, repaired", lambda: one_key, repair=True, **big)
    _add("1 MB of single quotes, repaired", lambda: str({f"k{n}": "v" for n in range(80_000)}), repair=True, **big)
    _add("1 MB of comments, repaired", lambda: "{" + "/* a */" * 140_000 + "}", repair=True, **big)
    _add("1 MB of trailing commas, repaired", lambda: "[" + "[1,]," * 200_000 + "]", repair=True, **big)
    _add("cut after 5 MB", lambda: _rows(120_000)()[:-5], "truncated_json", **big)
    _add("cut after 5 MB, repaired", lambda: _rows(120_000)()[:-5], repair=True, **big)
    _add("a key of 10 MB", lambda: json.dumps({"k" * 10 * MB: 1}), **big)
    wide = [{"name": "x" * 1000, "price": n} for n in range(1000)]
    _add("1,000 wrong rows of 1 KB", lambda: json.dumps({"items": wide}), **big)
    middle = "ACME " * 100_000 + "!" + " GmbH" * 100_000
    _add("1 MB against a text that differs in the middle", lambda: json.dumps({"vendor": middle}), **big)
    noise = ('{}[]",:\\', '{}[]"`\n ', "[]{}", "ab{}```json\n", '"\\u0a', "-+.eE0123456789,[]")
    for seed, alphabet in enumerate(noise, 7):
        _add(f"1 MB of noise from {alphabet!r}", _noise(MB, alphabet, seed), **big)
        _add(f"20 KB of noise from {alphabet!r}, repaired", _noise(20_000, alphabet, seed), repair=True)


_small()
_large()


# --- one output, in this process


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def judged(output: Output) -> dict[str, Any]:
    """Make an output, score it and tell it; return its kind and what that took."""
    from pytest_extract import ExtractError, compile_schema
    from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Variant
    from pytest_extract.report.diff import DiffOptions, case_lines
    from pytest_extract.report.lines import text_of
    from pytest_extract.results import dump_result, load_result

    scorer = compile_schema(SCHEMA)

    def told(score: Any, kept: Any) -> float:
        """Write a case and show it, as a run does once, at one verbosity; return what that takes."""
        begin = cpu_s()
        tried = Attempt(index=0, outcome=Outcome.FAILED, score=score.record(), output=kept)
        how = {"nodeid": "a::b", "case_id": "b", "file": "a", "variant": Variant(), "outcome": Outcome.FAILED}
        result = load_result(dump_result(CaseResult(attempts=(tried,), **how)))
        written, shown = cpu_s() - begin, []
        for verbosity in (0, 2):
            start = cpu_s()
            for line in map(text_of, case_lines(result, DiffOptions(verbosity=verbosity))):
                if not line.isprintable():
                    raise AssertionError(f"a line of the diff is not printable: {line!r:.200}")
            shown.append(cpu_s() - start)
        return written + max(shown)

    for text in ('{"vendor": 1', RIGHT):  # what a run has imported by its first case
        told(scorer.score_text(GOLD, text), None)
    made = output.make()
    size = len(made) if isinstance(made, str | bytes) else 0
    memory, begin = peak_mb(), cpu_s()
    kind, tell = "error", 0.0
    try:
        score = scorer.score_text(GOLD, made, repair=output.repair, finish_reason=output.finish_reason)
        taken = cpu_s() - begin
    except ExtractError:  # the extractor gave what is no JSON in any dress: its mistake, not the model's
        taken = cpu_s() - begin
    else:
        kind = "scored" if score.failure is None else str(score.failure.kind)
        if not all(0.0 <= value <= 1.0 for value in score.measures.values()):
            raise AssertionError(f"measures: {score.measures}")
        tell = told(score, made if isinstance(made, str | dict | list) else None)
    return {"size": size, "kind": kind, "score_s": taken, "tell_s": tell, "mb": peak_mb() - memory}


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (STOP_S, STOP_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def in_process(name: str) -> dict[str, Any]:
    """Judge an output in a fresh process; what ends it is its kind."""
    code = "import sys; from tests.fuzz import outputs as o; print(o.json.dumps(o.judged(o.OUTPUTS[sys.argv[1]])))"
    how: dict[str, Any] = {"capture_output": True, "text": True, "env": quiet_env(), "preexec_fn": _bounded}
    done = subprocess.run([sys.executable, "-c", code, name], check=False, **how)
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    ended = f"KILLED after {STOP_S} s" if done.returncode in {-24, -9} else f"RAISED {last:.100}"
    return {"size": 0, "kind": ended, "score_s": float(STOP_S), "tell_s": 0.0, "mb": 0.0, "broken": True}


def wrong_with(output: Output, found: dict[str, Any], limit: float) -> str:
    if found.get("broken"):
        return "no result"
    if output.kinds and found["kind"] not in output.kinds:
        return f"should be {' or '.join(sorted(output.kinds))}"
    return f"above {limit:g} s" if found["score_s"] + found["tell_s"] > limit else ""


def main(argv: list[str]) -> int:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--only", metavar="RIGHT", default="", help="outputs whose name has this in it")
    parser.add_argument("--small", action="store_true", help="leave out those of a megabyte and more")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="S", help="CPU seconds (default %(default)s)")
    args = parser.parse_args(argv)
    chosen = [one for one in OUTPUTS.values() if args.only in one.name and not (args.small and one.big)]
    widths = (max((len(output.name) for output in chosen), default=6), 8, 18, 8, 8, 7, 0)
    put_row(("output", "KB", "kind", "score s", "tell s", "MB", ""), widths)
    wrong = 0
    for output in chosen:
        found = in_process(output.name)
        problem = wrong_with(output, found, args.limit)
        wrong += bool(problem)
        figures = (f"{found['score_s']:.2f}", f"{found['tell_s']:.2f}", f"{found['mb']:.0f}")
        put_row((output.name, f"{found['size'] / 1000:,.0f}", found["kind"], *figures, problem), widths)
    print(f"\n{len(chosen)} outputs, {wrong} otherwise than they should be")
    return 1 if wrong else 0
