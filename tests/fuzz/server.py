"""A model server that misbehaves: `python tests/fuzz server`.

One real pytest run through litellm with a case for each way of misbehaving. Printed: the outcome of each case, calls
made, seconds.
Exit status 1 when a case ends otherwise than it should: an outage must be an *error*, a bad answer *failed*, and a hiccup
that a retry mends *passed*; and no case may take longer than its attempts are allowed to.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_extract.results import read_results
from tests.fuzz.table import parser_of, put_row, quiet_env
from tests.llm_server import (
    MODEL,
    LlmServer,
    Reply,
    answer,
    context_length,
    cut_off,
    dripping,
    empty,
    failed,
    filtered,
    hung_up,
    malformed,
    rate_limited,
    refused,
    server_error,
    slow,
    truncated,
)

SCHEMA = {"type": "object", "properties": {"vendor": {"type": "string"}, "total": {"type": "number"}}}
GOLD = {"vendor": "ACME GmbH", "total": 12.5}
GOOD = answer(json.dumps(GOLD))
ATTEMPTS = 3
TIMEOUT_S = 2.0
SLACK_S = 3.0
"""What a case may take beyond its attempts: waits between them, and a busy machine."""


def shaped(**parts: Any) -> Reply:
    return Reply(body={**GOOD.body, **parts})


def message(content: Any) -> Reply:
    return shaped(choices=[{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}])


@dataclass(frozen=True)
class Behaviour:
    """Replies in order, the last one for ever; the outcomes and the failure kind that the case may have.

    `calls` is how many calls it may cost.
    """

    name: str
    replies: Sequence[Reply]
    outcome: str
    kind: str | None = None
    calls: int = 1


def error(name: str, reply: Reply, calls: int = ATTEMPTS) -> Behaviour:
    return Behaviour(name, [reply], "error", None, calls)


def mended(name: str, *before: Reply) -> Behaviour:
    return Behaviour(name, [*before, GOOD], "passed", None, len(before) + 1)


def bad(kind: str | None, name: str, reply: Reply) -> Behaviour:
    return Behaviour(name, [reply], "failed", kind)


NO_NUMBERS = {"prompt_tokens": "many", "completion_tokens": None}
BEHAVIOURS = (
    mended("good"),
    mended("429 twice, then good", rate_limited(), rate_limited()),
    mended("429 with Retry-After 0, then good", rate_limited(0)),
    error("429 for ever", rate_limited()),
    error("429 with Retry-After 3600", rate_limited(3600), calls=1),
    error("429 with an odd Retry-After", failed(429, "slow down", headers={"Retry-After": "soon \u00e9"})),
    mended("500, then good", server_error()),
    error("500 for ever", server_error()),
    error("500 with a page", Reply(status=500, body="<html><b>Oops</b></html>")),
    mended("502, then good", server_error(502)),
    mended("503 twice, then good", server_error(503), server_error(503)),
    error("503 for ever", server_error(503)),
    error("529 for ever", server_error(529)),
    error("401", failed(401, "Incorrect API key provided"), calls=1),
    error("403", failed(403, "no access"), calls=1),
    error("404", failed(404, "no such model", code="model_not_found"), calls=1),
    error("400", failed(400, "bad request"), calls=1),
    error("nothing, for ever", slow(60, GOOD)),
    mended("nothing once, then good", slow(60, GOOD)),
    Behaviour("good after 1 s", [slow(1, GOOD)], "passed"),
    error("half an answer, for ever", cut_off(150, GOOD)),
    mended("half an answer, then good", cut_off(150, GOOD)),
    error("headers only", cut_off(0, GOOD)),
    error("hangs up, for ever", hung_up()),
    mended("hangs up, then good", hung_up()),
    Behaviour("drips for about 1 s", [dripping(1 / 400, GOOD)], "passed"),
    error("drips for minutes", dripping(0.1, GOOD)),
    error("a page", Reply(body="<!doctype html><p>Please log in", headers={"Content-Type": "text/html"})),
    error("cut JSON", malformed()),
    error("empty body", Reply(body="")),
    error("bytes", Reply(body=b"\xff\xfe\x00\x80garbage\x00")),
    error("not gzip", Reply(body="{}", headers={"Content-Encoding": "gzip"})),
    *(error(f"shape: {body!r}", Reply(body=body)) for body in ({}, None, [], "hello")),
    *(error(f"shape: choices {each!r}", shaped(choices=each)) for each in (None, [], "none", [{}], [7])),
    error("shape: message null", shaped(choices=[{"index": 0, "finish_reason": "stop", "message": None}])),
    error("shape: content a number", message(7)),
    error("shape: content an object", message(GOLD)),
    error("shape: an error with status 200", Reply(body={"error": {"message": "overloaded", "type": "error"}})),
    error("shape: nested 100,000 deep", Reply(body="[" * 100_000)),
    Behaviour("shape: no usage", [Reply(body={k: v for k, v in GOOD.body.items() if k != "usage"})], "passed"),
    Behaviour("shape: usage of texts", [shaped(usage=NO_NUMBERS)], "passed error", None, ATTEMPTS),
    bad("context_length", "context length", context_length()),
    bad("empty_response", "empty answer", empty()),
    bad("empty_response", "content null", message(None)),
    bad("refusal", "refusal", refused()),
    bad("refusal", "content filter", filtered()),
    bad("truncated_json", "finish reason length", truncated('{"vendor": "AC')),
    bad("empty_response", "finish reason length, nothing", truncated("")),
    bad("no_json", "prose", answer("I am sorry, which invoice?")),
    bad(None, "wrong values", answer('{"vendor": "Other", "total": 1}')),
)

CONFTEST = f"""
import pytest
from pytest_extract import LitellmExtractor
from pytest_extract.extraction.litellm import Retry

@pytest.fixture(scope="session")
def extractor():
    retry = Retry(attempts={ATTEMPTS}, timeout_s={TIMEOUT_S}, first_wait_s=0.05)
    return LitellmExtractor(model="{MODEL}", retry=retry)
"""


def wrong_with(wanted: Behaviour, outcome: str, kind: str | None, calls: int, seconds: float) -> str:
    if outcome not in wanted.outcome.split():
        return f"should be {wanted.outcome}"
    if wanted.kind is not None and kind != wanted.kind:
        return f"should be {wanted.kind}"
    if calls > wanted.calls:
        return f"should take {wanted.calls} calls"
    most = wanted.calls * TIMEOUT_S + SLACK_S
    return f"should end within {most:g} s" if seconds > most else ""


def extractor_rows(folder: Path, behaviours: Sequence[Behaviour]) -> Iterator[tuple[object, ...]]:
    """Run a case for each behaviour, one after the other, and yield what became of it."""
    warm_up = Behaviour("the import of litellm", [GOOD], "passed")
    by_text = {f"<behaviour {number}>": one for number, one in enumerate([warm_up, *behaviours])}
    calls: Counter[str] = Counter()

    def reply(body: Any) -> Reply:
        text = json.dumps(body)
        mark = next(mark for mark in by_text if json.dumps(mark)[1:-1] in text)
        replies = by_text[mark].replies
        calls[mark] += 1
        return replies[min(calls[mark], len(replies)) - 1]

    cases = [{"id": mark, "text": mark, "schema": SCHEMA, "gold": GOLD} for mark in by_text]
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "all.extract.yaml").write_text(json.dumps({"cases": cases}))
    options = ["-q", "-p", "no:cacheprovider", "--extract-report=r.jsonl", "--extract-concurrency=1"]
    with LlmServer() as server:
        server.otherwise = reply
        how: dict[str, Any] = {"cwd": folder, "env": quiet_env(**server.env), "capture_output": True, "text": True}
        done = subprocess.run([sys.executable, "-m", "pytest", *options], check=False, timeout=900, **how)
    if not (folder / "r.jsonl").exists():
        raise SystemExit(f"the run wrote no results:\n{done.stdout}")
    results = {result.case_id: result for result in read_results(folder / "r.jsonl").results}
    for mark, behaviour in [*by_text.items()][1:]:
        if mark not in results:
            yield behaviour.name, "no result", "", calls[mark], "", "should have one", ""
            continue
        result = results[mark]
        attempt = result.attempts[0]
        failure = attempt.score and attempt.score.failure
        kind = str(failure.kind) if failure else None
        problem = wrong_with(behaviour, str(result.outcome), kind, calls[mark], result.duration_s)
        why = " ".join((attempt.error or (failure.message if failure else "")).split())[:90]
        yield behaviour.name, result.outcome, kind or "", calls[mark], f"{result.duration_s:.1f}", problem, why


def main(argv: list[str]) -> int:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--only", metavar="TEXT", help="behaviours whose name has this in it")
    args = parser.parse_args(argv)
    chosen = [one for one in BEHAVIOURS if args.only is None or args.only in one.name]
    widths = (max(len(one.name) for one in chosen), 9, 14, 5, 6, 22, 0)
    with tempfile.TemporaryDirectory() as name:
        put_row(("server", "outcome", "kind", "calls", "wall s", "", "told"), widths)
        wrong = 0
        for row in extractor_rows(Path(name), chosen):
            put_row(row, widths)
            wrong += bool(row[5])
        print(f"\n{len(chosen)} cases, {wrong} otherwise than they should be")
    return 1 if wrong else 0
