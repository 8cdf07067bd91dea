"""Hypothesis profiles: the same examples in every run, so that a change is judged by itself; `explore` looks further.

pytest tests/core --hypothesis-profile=explore     # by hand: many new examples
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from pytest_extract.regression.baseline import CI
from tests.commands import run
from tests.compiled import compile_modules, read_compiled_modules

__all__ = ["run"]
read_compiled_modules()

# A run in CI refuses to write baselines and golds. Tests of that set the variables themselves; all others run alike everywhere.
for _name in (*CI, "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
    os.environ.pop(_name, None)

# A shell has its background jobs ignore Ctrl-C, and processes hand that on; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW_MACHINE = [HealthCheck.too_slow]
settings.register_profile(
    "repeatable", max_examples=30, derandomize=True, deadline=None, suppress_health_check=SLOW_MACHINE
)
settings.register_profile("explore", max_examples=2_000, deadline=None, suppress_health_check=SLOW_MACHINE)
settings.load_profile("repeatable")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off what is collected: modules and thousands of tests stay until the end.

    Each full collection would walk over them again, which takes a seventh of the time of all tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(5_000, 20, 100)  # no freeze: older versions of hypothesis look for referrers
        gc.enable()


@pytest.fixture(scope="session")
def compiled_modules():
    """For tests that start Python: its modules are compiled once, not in each process."""
    compile_modules()


@pytest.fixture
def waited(monkeypatch):
    """Set once somebody waits for what another is making (`files.making`)."""
    event = threading.Event()
    monkeypatch.setattr(time, "sleep", lambda _seconds: event.set())
    return event
