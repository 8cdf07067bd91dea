from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_extract.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: pytest-extract {command}" in capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)


def test_what_a_terminal_cannot_show_is_escaped() -> None:
    command = "import sys; sys.argv[1:] = ['metrics', 'date']; from pytest_extract.cli import main; sys.exit(main())"
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", command], env=env, capture_output=True, text=True, check=True)
    assert "2024\\u5e743\\u67084" in done.stdout


def test_help_says_where_the_manual_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with pytest.raises(SystemExit):
        main(["--help"])
    folder = capsys.readouterr().out.strip().rpartition("The manual, page by page: ")[2]
    assert (Path(folder) / "scoring.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["scor"], "no command 'scor'; did you mean 'score'?", id="nearest"),
        pytest.param([], "the following arguments are required: COMMAND", id="none"),
        pytest.param(["merge"], "required: SHARD.jsonl", id="arguments-missing"),
        pytest.param(
            ["score", "s", "g", "o", "--jugde=llm"],
            "unrecognized arguments: --jugde=llm; did you mean '--judge'?",
            id="option",
        ),
        pytest.param(["schema", "more"], "pytest-extract schema: error: unrecognized arguments: more", id="too-many"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_read_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", str(tmp_path / "none.jsonl"), "-o", str(tmp_path / "out.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_the_command_is_installed_and_imports_one_command_only() -> None:
    code = (
        "import sys; from pytest_extract.cli import main\n"
        "try: main(['schema'])\n"
        "finally: print(sorted(n for n in sys.modules if n.startswith('pytest_extract.cli')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{")
    assert done.stderr.strip() == "['pytest_extract.cli', 'pytest_extract.cli.schema']"
