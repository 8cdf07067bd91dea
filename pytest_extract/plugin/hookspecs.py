"""Hooks that a `conftest.py` or a plugin may implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_extract.core.case_result import CaseResult
    from pytest_extract.core.extensions import Extensions
    from pytest_extract.documents import Document
    from pytest_extract.regression.gate import GateDecision


def pytest_extract_extensions(config: pytest.Config) -> Extensions | Iterable[Callable[..., Any]] | None:
    """Return what schemas and cases may name besides the built-in metrics, transforms, aligners and post-processors.

    An `Extensions`, or functions with a decorator of `pytest_extract.extend`. Called when the first case file of a
    folder is collected, never without one. What a `conftest.py` gives holds for the cases in its folder and below; the
    nearest wins. Decorated functions of a `conftest.py`, or of a plugin module, need no hook: they are found.
    """


@pytest.hookspec(firstresult=True)
def pytest_extract_document(document: Document) -> str | None:
    """Return the text of a document (own OCR, de-identification), or None for the text that it has.

    Called when the text is first asked for, and again after it was released; `document` has its own text, path and
    bytes. A PDF's pages are told apart by form feeds. The first hook that returns a text wins.
    """


def pytest_extract_result(item: pytest.Item, result: CaseResult) -> None:
    """Do something with the result of a case (send it to a tracer, a dashboard), without the secrets in it.

    Called when the case has run, in the process that ran it: under xdist, in a worker.
    """


def pytest_extract_verdict(config: pytest.Config, verdict: GateDecision) -> None:
    """Do something with the verdict of the regression gate, once, before it is shown.

    `verdict.answer` is `WORSE`, `PASS` or `UNDECIDED`; `verdict.reasons` are its sentences. Under xdist,
    called in the controller.
    """
