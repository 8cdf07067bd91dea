from __future__ import annotations

import subprocess
import sys

from pytest_extract.cli import main


def test_what_init_writes_passes_as_it_stands(tmp_path, capsys):
    assert main(["init", str(tmp_path)]) == 0
    assert f"now run: pytest {tmp_path / 'cases'}" in capsys.readouterr().out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "cases"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 case: 1 passed" in done.stdout


def test_what_is_there_already_is_never_touched(tmp_path, capsys):
    own = tmp_path / "cases" / "conftest.py"
    own.parent.mkdir()
    own.write_text("# mine\n")
    assert main(["init", str(tmp_path)]) == 2
    assert "already there" in capsys.readouterr().err
    assert own.read_text() == "# mine\n"
    assert [path.name for path in own.parent.iterdir()] == ["conftest.py"]


def test_a_folder_with_a_space_can_be_copied_into_a_shell(tmp_path, capsys):
    assert main(["init", str(tmp_path / "my cases")]) == 0
    assert capsys.readouterr().out.endswith(f"now run: pytest '{tmp_path / 'my cases' / 'cases'}'\n")
