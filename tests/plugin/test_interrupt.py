"""After Ctrl-C the process ends, whatever the calls do that have begun; what ends in a moment is recorded."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.slow
CONFTEST = """
import asyncio, atexit, concurrent.futures, os, signal, threading, time
import pytest

calls = []

def count():
    calls.append(1)
    if len(calls) == 3:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

@pytest.fixture(scope="session")
def extractor():
"""
HANGS = {
    "an import that the exit waits for": """
    atexit.register(__import__, "slow")
    def extract(document):
        count()
        if threading.current_thread() is not threading.main_thread():  # an interrupted import would be over
            import slow
        time.sleep(2)
    return extract
""",
    "a pool": """
    pool = concurrent.futures.ThreadPoolExecutor()
    def extract(document):
        count()
        return pool.submit(time.sleep, 90).result()
    return extract
""",
    "a thread of the loop": """
    async def extract(document):
        count()
        await asyncio.to_thread(time.sleep, 90)
    return extract
""",
    "a loop that is blocked": """
    async def extract(document):
        count()
        if len(calls) == 3:
            time.sleep(90)
        await asyncio.sleep(90)
    return extract
""",
}
ENDS_IN_A_MOMENT = """
    def extract(document):
        count()
        time.sleep(1.2)
        return document.text
    return extract
"""
SECOND = "\n\ndef pytest_keyboard_interrupt():\n    raise KeyboardInterrupt\n"


@pytest.fixture
def interrupted(pytester, write_case):
    """Run four cases in a process of its own that gets Ctrl-C while it calls; returns the run."""

    def run(extractor, *args):
        pytester.makeconftest(CONFTEST + extractor)
        pytester.makepyfile(slow="import time\n\ntime.sleep(90)\n")
        for name in "abcd":
            write_case(name, question=name)
        started = time.monotonic()
        result = pytester.runpytest_subprocess(*args, timeout=80)
        assert time.monotonic() - started < 80
        assert result.ret == pytest.ExitCode.INTERRUPTED
        return result

    return run


@pytest.mark.parametrize("extractor", HANGS.values(), ids=HANGS)
def test_a_call_that_never_ends_does_not_keep_the_process(interrupted, extractor):
    result = interrupted(extractor, "-p", "no:xdist", "--extract-report=r.jsonl")
    result.stdout.fnmatch_lines(["*KeyboardInterrupt*"])


def test_a_second_ctrl_c_leaves_no_green_status(interrupted):
    """It comes while pytest tells of the first, before it has noted an exit status."""
    interrupted(HANGS["a pool"] + SECOND, "-p", "no:xdist")


def test_calls_that_end_in_a_moment_are_recorded(pytester, interrupted):
    interrupted(ENDS_IN_A_MOMENT, "--extract-record=once", "--extract-concurrency=3")
    recorded = {path.parent.name for path in pytester.path.glob("extract-recordings/*/*.json")}
    assert recorded == {"a-a", "c-c", "d-d"}  # the interrupt ended the call of the main thread, that of b
