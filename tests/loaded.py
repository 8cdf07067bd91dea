"""For in-process inner sessions: pytest's `pytester` forgets every module that an inner run has imported.

Imported once more by the next inner run, half of a package would hold classes of the first import, and parts written in
C (yaml, numpy) cannot be loaded twice. So all that a case may need is loaded before the first of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import warnings
from typing import Final

import pytest

COMPILED: Final = (
    "yaml",
    "rapidfuzz.process",
    "jsonschema",
    "jsonschema_rs",
    "numpy",
    "scipy.optimize",
    "pandas",
    "pyarrow",
)
"""What the package uses that has parts in C or Rust; some may be missing; deepdiff takes pandas along."""


def call_model_once() -> None:
    """Call a model by litellm: its first call imports 500 modules, and each inner run would import them again."""
    from pytest_extract.documents import Document
    from pytest_extract.extraction.litellm import LitellmExtractor
    from tests.llm_server import MODEL, LlmServer

    with LlmServer() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.env.items():
            patch.setenv(name, value)
        extractor = LitellmExtractor(model=MODEL, mode="structured")
        extractor(Document(text="a"), {"type": "object", "properties": {"a": {"type": "string"}}})


def load_everything() -> None:
    """Import every module of the package but the commands, and the compiled libraries that are installed."""
    import pytest_extract

    with warnings.catch_warnings():  # their own deprecations are no business of the suite under test
        warnings.simplefilter("ignore")
        for found in pkgutil.walk_packages(pytest_extract.__path__, "pytest_extract."):
            if not found.name.startswith("pytest_extract.cli"):
                importlib.import_module(found.name)
        for name in COMPILED:
            if importlib.util.find_spec(name.partition(".")[0]) is not None:
                importlib.import_module(name)
