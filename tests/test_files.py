"""Files that are whole or not there, and of which none is read without an end or waited for."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from pytest_extract import files
from pytest_extract.cases.load import load_cases
from pytest_extract.cases.schemas import SchemaCache
from pytest_extract.cli.compare import read_side
from pytest_extract.documents import Document, DocumentError
from pytest_extract.errors import NotWritten, StoreError
from pytest_extract.extraction.recordings import read_recording
from pytest_extract.files import check_file, check_folder, read_regular, read_regular_text, write_atomic
from pytest_extract.regression.baseline import read_baseline
from pytest_extract.results import read_results
from tests.commands import write

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions, links and pipes")


def names(folder):
    return sorted(item.name for item in folder.iterdir())


# --- written


def test_the_last_writer_wins(tmp_path):
    path = tmp_path / "deep/er/last.json"
    write_atomic(path, "one")
    write_atomic(path, "two\n\ud800")
    assert path.read_bytes() == b"two\n\xed\xa0\x80"
    assert names(path.parent) == ["last.json"]


@posix
def test_a_file_keeps_its_permissions_and_a_link_stays_one(tmp_path):
    path, link = tmp_path / "a.json", tmp_path / "link"
    path.write_text("one")
    path.chmod(0o664)
    link.symlink_to("a.json")
    before = os.umask(0o077)
    try:
        write_atomic(link, "two")
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("two", 0o664)


@posix
@pytest.mark.parametrize("write", [lambda path: write_atomic(path, "text"), check_file])
def test_a_pipe_or_a_device_is_neither_written_into_nor_replaced(tmp_path, write):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "a named pipe"), (Path("/dev/null"), "a device"), (Path("/dev/stdout"), "a device")):
        with pytest.raises(NotWritten, match=f"{path}: cannot be written: .*it is {kind}, not a regular file"):
            write(path)
    assert names(tmp_path) == ["pipe"]
    assert pipe.is_fifo()


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_atomic(tmp_path / "a.json", 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"a\.json: cannot be written"):
        write_atomic(tmp_path / "file" / "a.json", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder: cannot be written"):
        write_atomic(tmp_path / "folder", "x")
    assert names(tmp_path) == ["file", "folder"]


@pytest.fixture
def read_only():
    """A folder that its user may read only: root is somebody else while the test runs."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@posix
@pytest.mark.parametrize("name", ["r.html", "new/r.html"])
def test_a_read_only_folder_is_found_out(read_only, name):
    with pytest.raises(NotWritten, match="Permission denied"):
        check_file(read_only / name)
    with pytest.raises(NotWritten, match="Permission denied"):
        check_folder((read_only / name).parent)
    assert names(read_only) == []


def test_a_check_leaves_nothing_and_touches_nothing(tmp_path):
    (tmp_path / "r.html").write_text("old")
    check_file(tmp_path / "r.html")
    check_file(tmp_path / "a" / "b" / "r.html")
    check_folder(tmp_path / "c" / "d")
    with pytest.raises(NotWritten, match="it is a folder"):
        check_file(tmp_path)
    assert (names(tmp_path), (tmp_path / "r.html").read_text()) == (["r.html"], "old")


# --- read

PIPE = "it is a named pipe, not a regular file"


@pytest.fixture
def folder(tmp_path):
    write({"s.json": {}, "g.json": {"a": 1}}, tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    return tmp_path


def told(folder, **keys):
    case = {"text": "x", "schema": "s.json", "gold": "g.json", **keys}
    write({"a.extract.yaml": {key: value for key, value in case.items() if value is not None}}, folder)
    loaded = load_cases(folder / "a.extract.yaml", SchemaCache())
    assert not loaded.cases
    return "\n".join(map(str, loaded.errors))


@posix
@pytest.mark.timeout(60)
@pytest.mark.parametrize("key", ["gold", "schema", "prompt", "document", "defaults", "dataset"])
@pytest.mark.parametrize(
    ("name", "kind"), [("pipe", "a named pipe"), ("/dev/zero", "a device or a socket")], ids=["pipe", "device"]
)
def test_a_case_s_file_is_a_regular_one(folder, key, name, kind):
    absent = {"document": ["text"], "dataset": ["text", "schema", "gold"]}.get(key, [])
    message = told(folder, **{key: name}, **dict.fromkeys(absent))
    assert f"`{key}`: " in message
    assert f"{name} is {kind}, not a file" in message
    assert "a.extract.yaml:1:" in message


@posix
@pytest.mark.timeout(60)
def test_all_that_is_read_is_a_regular_file(folder):
    for read in (read_results, read_baseline, read_recording, read_side):
        with pytest.raises(StoreError, match=PIPE):
            read(folder / "pipe")
    with pytest.raises(DocumentError, match=PIPE):
        _ = Document(folder / "pipe").bytes
    (folder / "pipe").rename(folder / "p.extract.yaml")
    (error,) = load_cases(folder / "p.extract.yaml").errors
    assert error.message == f"cannot be read: {PIPE}"


def test_a_file_above_the_bound_says_its_size_and_the_bound(folder):
    (folder / "f").write_bytes(b"x" * 101)
    assert len(read_regular(folder / "f", 101)) == 101
    with pytest.raises(OSError, match="it has 101 bytes, and at most 100 are read"):
        read_regular(folder / "f", 100)
    with (folder / "g.json").open("ab") as file:
        file.truncate(files.MOST_BYTES + 1)  # takes no room on the disk
    assert told(folder) == (
        f"{folder / 'g.json'}:1:1: cannot be read: it has 67,108,865 bytes, and at most 67,108,864 are read"
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_a_file_that_does_not_tell_its_size_is_read_whole():
    assert b"VmRSS" in read_regular("/proc/self/status")
    with pytest.raises(OSError, match="it has more than 10 bytes"):
        read_regular("/proc/self/status", 10)


def test_line_ends_are_newlines(tmp_path):
    (tmp_path / "f").write_bytes("a\r\nb\rc\nä".encode())
    assert read_regular_text(tmp_path / "f") == (tmp_path / "f").read_text(encoding="utf-8") == "a\nb\nc\nä"


@posix
def test_a_command_reads_an_output_from_a_pipe(folder, run):
    reader, writer = os.pipe()
    os.write(writer, b'{"a": 1}')
    os.close(writer)
    try:
        assert "0 of 1 leaves are not right" in run(f"score s.json g.json /dev/fd/{reader}").out
    finally:
        os.close(reader)
