"""No file that a case or an option names is read without an end or waited for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract import files
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli import main
from pytest_extract.cli.compare import read_side
from pytest_extract.documents import Document, DocumentError
from pytest_extract.errors import StoreError
from pytest_extract.extraction.recordings import read_recording
from pytest_extract.files import read_regular, read_regular_text
from pytest_extract.regression.baseline import read_baseline
from pytest_extract.results import read_results

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here"),
    pytest.mark.timeout(60),
]
BASE = {"text": "x", "schema": "s.json", "gold": "g.json"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.json").write_text("{}", encoding="utf-8")
    (tmp_path / "g.json").write_text('{"a": 1}', encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def told(folder: Path, **keys: object) -> str:
    case = {key: value for key, value in {**BASE, **keys}.items() if value is not None}
    (folder / "a.extract.yaml").write_text(json.dumps(case), encoding="utf-8")
    loaded = load_cases(folder / "a.extract.yaml", SchemaCache())
    assert not loaded.cases
    return "\n".join(map(str, loaded.errors))


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"gold": "{}"}, id="gold"),
        pytest.param({"schema": "{}"}, id="schema"),
        pytest.param({"prompt": "{}"}, id="prompt"),
        pytest.param({"document": "{}", "text": None}, id="document"),
        pytest.param({"defaults": "{}"}, id="defaults"),
        pytest.param({"dataset": "{}", "text": None, "schema": None, "gold": None}, id="dataset"),
    ],
)
@pytest.mark.parametrize(
    ("name", "kind"), [("pipe", "a named pipe"), ("/dev/zero", "a device or a socket")], ids=["pipe", "device"]
)
def test_a_case_s_file_is_a_regular_one(folder: Path, keys: dict[str, str | None], name: str, kind: str) -> None:
    named = {key: value and value.format(name) for key, value in keys.items()}
    key = next(key for key, value in keys.items() if value)
    message = told(folder, **named)
    assert f"`{key}`: " in message
    assert f"{name} is {kind}, not a file" in message
    assert "a.extract.yaml:1:" in message


def test_the_case_file_is_a_regular_one(folder: Path) -> None:
    os.mkfifo(folder / "p.extract.yaml")
    (error,) = load_cases(folder / "p.extract.yaml").errors
    assert error.message == "cannot be read: it is a named pipe, not a regular file"


@pytest.mark.parametrize(
    "read", [read_results, read_baseline, read_recording, read_side], ids=lambda read: read.__name__
)
def test_what_a_run_has_written_is_read_from_regular_files(folder: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(StoreError, match="it is a named pipe, not a regular file"):
        read(folder / "pipe")


def test_a_document_is_a_regular_file(folder: Path) -> None:
    with pytest.raises(DocumentError, match="it is a named pipe, not a regular file"):
        _ = Document(folder / "pipe").bytes


def test_a_file_above_the_bound_says_its_size_and_the_bound(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 101)
    assert len(read_regular(tmp_path / "f", 101)) == 101
    with pytest.raises(OSError, match="it has 101 bytes, and at most 100 are read"):
        read_regular(tmp_path / "f", 100)


def test_a_large_gold_is_a_mistake_with_the_bound(folder: Path) -> None:
    with (folder / "g.json").open("ab") as file:
        file.truncate(files.MOST_BYTES + 1)  # takes no room on the disk
    assert told(folder) == (
        f"{folder / 'g.json'}:1:1: cannot be read: it has 67,108,865 bytes, and at most 67,108,864 are read"
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_a_file_that_does_not_tell_its_size_is_read_whole() -> None:
    assert b"VmRSS" in read_regular("/proc/self/status")
    with pytest.raises(OSError, match="it has more than 10 bytes"):
        read_regular("/proc/self/status", 10)


def test_line_ends_are_newlines(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("a\r\nb\rc\nä".encode())
    assert read_regular_text(tmp_path / "f") == (tmp_path / "f").read_text(encoding="utf-8") == "a\nb\nc\nä"


def test_a_command_reads_an_output_from_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"a": 1}')
    os.close(writer)
    try:
        assert main(["score", str(folder / "s.json"), str(folder / "g.json"), f"/dev/fd/{reader}"]) == 0
    finally:
        os.close(reader)
    assert "0 of 1 leaves are not right" in capsys.readouterr().out
