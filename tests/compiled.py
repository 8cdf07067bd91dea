"""Compiled modules for the processes that tests start, where Python is told to write none.

Under PYTHONDONTWRITEBYTECODE each of some hundred processes would compile pytest, the plugin and its libraries anew: two
thirds of their time. So one process compiles them into a folder of ours, and the others read it. None of the others
writes: a test that edits a conftest.py twice within a second would meet the first one's compiled file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
CONFTEST = """
import pytest
import xdist.dsession, xdist.workermanage

@pytest.fixture(scope="session")
def extractor():
    return lambda document: document.text
"""
CASE = '{"text": "{}", "gold": {"a": 1}, "schema": {"properties": {"a": {"type": "integer"}}}, "xfail": "compiled"}'


def read_compiled_modules() -> None:
    """Have this process and those that it starts read what is there; nothing where Python writes modules itself."""
    if sys.dont_write_bytecode and sys.pycache_prefix is None and FOLDER.is_dir():
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(FOLDER)


def compile_modules() -> None:
    """Compile what is missing or out of date, by running a case, and one for litellm where the folder is new."""
    if not sys.dont_write_bytecode or sys.pycache_prefix not in {None, str(FOLDER)}:
        return
    new = not FOLDER.exists()
    project = FOLDER / "project"
    try:
        project.mkdir(parents=True, exist_ok=True)
        (project / "pytest.ini").write_text("[pytest]\n")
        (project / "conftest.py").write_text(CONFTEST)
        (project / "a.extract.yaml").write_text(CASE)
    except OSError:  # a tree that cannot be written: every process compiles for itself
        return
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(FOLDER), "PYTEST_ADDOPTS": ""}
    commands = [["-m", "pytest", "-p", "no:cacheprovider", str(project)]]
    if new:
        commands.append(["-c", "from tests.loaded import call_model_once; call_model_once()"])
    for command in commands:
        subprocess.run([sys.executable, *command], cwd=FOLDER.parents[1], env=env, capture_output=True, check=False)
    read_compiled_modules()
