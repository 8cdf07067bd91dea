"""A model server that misbehaves: `python tests/fuzz server`.

One real pytest run through litellm with a case for each way of misbehaving, then one with a judge that says yes to
everything, and `pytest-extract agree` on its answers. Printed: the outcome of each case, calls made, seconds.
Exit status 1 when a case ends otherwise than it should: an outage must be *broken*, a bad answer *failed*, and a hiccup
that a retry mends *passed*; and no case may take longer than its attempts are allowed to.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_extract.results import read_results
from tests.extraction.judge.questions import asked_of
from tests.fuzz.table import put_table, quiet_env
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


def shaped(body: Any) -> Reply:
    return Reply(body=body)


def message(content: Any) -> Reply:
    body = json.loads(json.dumps(GOOD.body))
    body["choices"][0]["message"]["content"] = content
    return Reply(body=body)


@dataclass(frozen=True)
class Behaviour:
    """Replies in order, the last one for ever; the outcome and failure kind that the case must have.

    `calls` is how many calls it may cost; `outcome` may be several, where either is right.
    """

    name: str
    replies: Sequence[Reply]
    outcome: str
    kind: str | None = None
    calls: int = 1


def broken(name: str, reply: Reply, calls: int = ATTEMPTS) -> Behaviour:
    return Behaviour(name, [reply], "broken", None, calls)


def mended(name: str, *before: Reply) -> Behaviour:
    return Behaviour(name, [*before, GOOD], "passed", None, len(before) + 1)


BEHAVIOURS = (
    Behaviour("good", [GOOD], "passed"),
    mended("429 twice, then good", rate_limited(), rate_limited()),
    mended("429 with Retry-After 0, then good", rate_limited(0)),
    broken("429 for ever", rate_limited()),
    broken("429 with Retry-After 3600", rate_limited(3600), calls=1),
    broken("429 with an odd Retry-After", failed(429, "slow down", headers={"Retry-After": "soon \u00e9"})),
    mended("500, then good", server_error()),
    broken("500 for ever", server_error()),
    broken("500 with a page", Reply(status=500, body="<html><b>Oops</b></html>")),
    mended("502, then good", server_error(502)),
    mended("503 twice, then good", server_error(503), server_error(503)),
    broken("503 for ever", server_error(503)),
    broken("529 for ever", server_error(529)),
    broken("401", failed(401, "Incorrect API key provided"), calls=1),
    broken("403", failed(403, "no access"), calls=1),
    broken("404", failed(404, "no such model", code="model_not_found"), calls=1),
    broken("400", failed(400, "bad request"), calls=1),
    Behaviour("context length", [context_length()], "failed", "context_length"),
    broken("nothing, for ever", slow(60, GOOD)),
    mended("nothing once, then good", slow(60, GOOD)),
    Behaviour("good after 1 s", [slow(1, GOOD)], "passed"),
    broken("half an answer, for ever", cut_off(150, GOOD)),
    mended("half an answer, then good", cut_off(150, GOOD)),
    broken("headers only", cut_off(0, GOOD)),
    broken("hangs up, for ever", hung_up()),
    mended("hangs up, then good", hung_up()),
    Behaviour("drips for about 1 s", [dripping(1 / 400, GOOD)], "passed"),
    broken("drips for minutes", dripping(0.1, GOOD)),
    broken("a page", Reply(body="<!doctype html><p>Please log in", headers={"Content-Type": "text/html"})),
    broken("cut JSON", malformed()),
    broken("empty body", Reply(body="")),
    broken("bytes", Reply(body=b"\xff\xfe\x00\x80garbage\x00")),
    broken("not gzip", Reply(body="{}", headers={"Content-Encoding": "gzip"})),
    broken("shape: {}", shaped({})),
    broken("shape: null", shaped(None)),
    broken("shape: a list", shaped([])),
    broken("shape: a text", shaped("hello")),
    broken("shape: choices null", shaped({**GOOD.body, "choices": None})),
    broken("shape: choices empty", shaped({**GOOD.body, "choices": []})),
    broken("shape: choices a text", shaped({**GOOD.body, "choices": "none"})),
    broken("shape: choices [{}]", shaped({**GOOD.body, "choices": [{}]})),
    broken("shape: choices [7]", shaped({**GOOD.body, "choices": [7]})),
    broken(
        "shape: message null",
        shaped({**GOOD.body, "choices": [{"index": 0, "finish_reason": "stop", "message": None}]}),
    ),
    broken("shape: content a number", message(7)),
    broken("shape: content an object", message(GOLD)),
    broken("shape: an error with status 200", shaped({"error": {"message": "overloaded", "type": "error"}})),
    Behaviour("shape: no usage", [shaped({k: v for k, v in GOOD.body.items() if k != "usage"})], "passed"),
    Behaviour(
        "shape: usage of texts",
        [shaped({**GOOD.body, "usage": {"prompt_tokens": "many", "completion_tokens": None}})],
        "passed broken",
        None,
        ATTEMPTS,
    ),
    Behaviour("shape: nested 100,000 deep", [Reply(body="[" * 100_000)], "broken", None, ATTEMPTS),
    Behaviour("empty answer", [empty()], "failed", "empty_response"),
    Behaviour("content null", [message(None)], "failed", "empty_response"),
    Behaviour("refusal", [refused()], "failed", "refusal"),
    Behaviour("content filter", [filtered()], "failed", "refusal"),
    Behaviour("finish reason length", [truncated('{"vendor": "AC')], "failed", "truncated_json"),
    Behaviour("finish reason length, nothing", [truncated("")], "failed", "empty_response"),
    Behaviour("prose", [answer("I am sorry, which invoice?")], "failed", "no_json"),
    Behaviour("wrong values", [answer('{"vendor": "Other", "total": 1}')], "failed", None),
)

CONFTEST = """
import pytest
from pytest_extract import LitellmExtractor
from pytest_extract.extraction.litellm import Retry

@pytest.fixture(scope="session")
def extractor():
    return LitellmExtractor(model="{model}", retry=Retry(attempts={attempts}, timeout_s={timeout_s}, first_wait_s=0.05))
"""


def run_pytest(folder: Path, *args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    return subprocess.run(
        command, cwd=folder, env=quiet_env(**env), capture_output=True, text=True, check=False, timeout=900
    )


@dataclass(frozen=True)
class Row:
    behaviour: Behaviour
    outcome: str
    kind: str | None
    calls: int
    seconds: float
    message: str
    timeout_s: float = TIMEOUT_S

    @property
    def wrong(self) -> str:
        wanted = self.behaviour
        if self.outcome not in wanted.outcome.split():
            return f"should be {wanted.outcome}"
        if wanted.kind is not None and self.kind != wanted.kind:
            return f"should be {wanted.kind}"
        if self.calls > wanted.calls:
            return f"should take {wanted.calls} calls"
        most = wanted.calls * self.timeout_s + SLACK_S
        return f"should end within {most:g} s" if self.seconds > most else ""


def extractor_rows(
    folder: Path, behaviours: Sequence[Behaviour] = BEHAVIOURS, timeout_s: float = TIMEOUT_S
) -> list[Row]:
    """Run a case for each behaviour, one after the other, and return what became of it."""
    warm_up = Behaviour("the import of litellm", [GOOD], "passed")
    by_text = {f"<behaviour {number}>": one for number, one in enumerate([warm_up, *behaviours])}
    calls: Counter[str] = Counter()

    def reply(body: Any) -> Reply:
        text = json.dumps(body)
        mark = next(mark for mark in by_text if json.dumps(mark)[1:-1] in text)
        replies = by_text[mark].replies
        found = replies[min(calls[mark], len(replies) - 1)]
        calls[mark] += 1
        return found

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conftest.py").write_text(CONFTEST.format(model=MODEL, attempts=ATTEMPTS, timeout_s=timeout_s))
    cases = [{"id": f"b{number}", "text": mark, "schema": SCHEMA, "gold": GOLD} for number, mark in enumerate(by_text)]
    (folder / "all.extract.yaml").write_text(json.dumps({"cases": cases}))
    results = folder / "results.jsonl"
    with LlmServer() as server:
        server.otherwise = reply
        done = run_pytest(folder, f"--extract-report={results}", "--extract-concurrency=1", env=server.env)
    if not results.exists():
        raise SystemExit(f"the run wrote no results:\n{done.stdout}\n{done.stderr}")
    found = {result.case_id: result for result in read_results(results).results}
    rows = []
    for number, (mark, behaviour) in enumerate(by_text.items()):
        result = found.get(f"b{number}")
        if result is None:
            rows.append(Row(behaviour, "no result", None, calls[mark], 0.0, "", timeout_s))
            continue
        attempt = result.attempts[0]
        failure = attempt.score and attempt.score.failure
        kind = str(failure.kind) if failure else None
        why = attempt.error or (failure.message if failure else "")
        told = " ".join(why.split())
        rows.append(Row(behaviour, str(result.outcome), kind, calls[mark], result.duration_s, told, timeout_s))
    return rows[1:]


# --- a judge that always says yes

PEOPLE = """
- {gold: ACME Corporation, extracted: Acme Corp., equal: true}
- {gold: Bolt, extracted: Nut, equal: false, by: anna}
- {gold: Berlin, extracted: Munich, equal: false, by: anna}
- {gold: paid, extracted: unpaid, equal: false, by: bo}
"""


def yes(body: Any) -> Reply:
    entries = [{"id": name, "score": 1, "reason": "the same"} for name in asked_of(body)]
    return answer(json.dumps({"answers": entries}))


def judge_agreement(folder: Path) -> tuple[bool, str]:
    """Return whether the audit finds a judge that always says yes, and what it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [("ACME Corporation", "Acme Corp."), ("Bolt", "Nut"), ("Berlin", "Munich"), ("paid", "unpaid")]
    field = {"type": "string", "evaluation_config": "string_semantic"}
    cases = [
        {
            "id": f"c{number}",
            "text": json.dumps({"name": extracted}),
            "schema": {"type": "object", "properties": {"name": field}},
            "gold": {"name": gold},
        }
        for number, (gold, extracted) in enumerate(pairs)
    ]
    (folder / "all.extract.yaml").write_text(json.dumps({"cases": cases}))
    echo = "import pytest\n\n@pytest.fixture(scope='session')\ndef extractor():\n    return lambda document: document.text\n"
    (folder / "conftest.py").write_text(echo)
    (folder / "people.yaml").write_text(PEOPLE)
    with LlmServer() as server:
        server.otherwise = yes
        done = run_pytest(folder, f"--extract-judge-model={MODEL}", "--extract-record=once", env=server.env)
    command = [sys.executable, "-m", "pytest_extract.cli", "agree", "people.yaml", "--min-agreement", "0.9"]
    script = Path(sys.executable).with_name("pytest-extract")
    command = [str(script), *command[3:]] if script.exists() else command
    audit = subprocess.run(
        command, cwd=folder, env=quiet_env(), capture_output=True, text=True, check=False, timeout=120
    )
    fooled = "4 passed" in done.stdout
    found = audit.returncode == 1 and "1 of 4 verdicts agree (25 %)" in audit.stdout
    return fooled and found, f"{done.stdout}\n{audit.stdout}{audit.stderr}exit status {audit.returncode}"


def main(argv: list[str], in_folder: Callable[[], Any] = tempfile.TemporaryDirectory) -> int:
    parser = argparse.ArgumentParser(prog="tests/fuzz server", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--only", metavar="TEXT", help="behaviours whose name has this in it")
    args = parser.parse_args(argv)
    chosen = [one for one in BEHAVIOURS if args.only is None or args.only in one.name]
    with in_folder() as name:
        begin = time.monotonic()
        rows = extractor_rows(Path(name) / "extractor", chosen)
        seconds = time.monotonic() - begin
        head = ("server", "outcome", "kind", "calls", "wall s", "", "told")
        lines = [
            (r.behaviour.name, r.outcome, r.kind or "", r.calls, f"{r.seconds:.1f}", r.wrong, r.message[:90])
            for r in rows
        ]
        put_table(head, lines)
        wrong = [row for row in rows if row.wrong]
        print(f"\n{len(rows)} cases in {seconds:.0f} s, {len(wrong)} otherwise than they should be")
        if args.only is not None:
            return 1 if wrong else 0
        found, text = judge_agreement(Path(name) / "judge")
        print(f"a judge that always says yes: {'found by agree' if found else 'NOT FOUND'}\n{text}")
    return 1 if wrong or not found else 0
