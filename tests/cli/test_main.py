from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_extract.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    assert f"usage: pytest-extract {command}" in capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("    ")]
    names = dict.fromkeys(name.partition(" ")[0] for name in COMMANDS)
    assert [name for name in listed if name in names] == list(names)


def test_the_bare_command_and_a_bare_group_print_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "  leaderboard " in capsys.readouterr().out
    assert main(["schema"]) == 0
    text = capsys.readouterr().out
    inside = {name.partition(" ")[2] for name in COMMANDS if name.startswith("schema ")}
    assert {line.split()[0] for line in text.splitlines() if line.startswith("    ")} >= inside


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pytest-extract {version('pytest-extract')}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_complete_commands_and_their_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", shell]) == 0
    script = capsys.readouterr().out
    assert "leaderboard" in script
    assert "--annotate" in script
    if shell == "bash":
        asked = "COMP_WORDS=(pytest-extract sch); COMP_CWORD=1; _shtab_pytest_extract; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["schema"]


def test_what_a_terminal_cannot_show_is_escaped() -> None:
    command = "import sys; sys.argv[1:] = ['explain', 'date']; from pytest_extract.cli import main; sys.exit(main())"
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
        pytest.param(["scor"], "invalid choice: 'scor' (choose from ", id="unknown"),
        pytest.param(["merge"], "required: SHARD.jsonl", id="arguments-missing"),
        pytest.param(
            ["score", "s", "g", "o", "--jugde=llm"],
            "score: error: unrecognized arguments: --jugde=llm; did you mean '--judge'?",
            id="option",
        ),
        pytest.param(["schema", "print", "more"], "schema print: error: unrecognized arguments: more", id="too-many"),
        pytest.param(["schema", "infr"], "invalid choice: 'infr' (choose from ", id="in-a-group"),
        pytest.param(["schema", "s.json"], "invalid choice: 's.json' (choose from ", id="no-command-of-the-group"),
        pytest.param(["--print-completion", "dash"], "'dash' is none of bash, zsh, ", id="shell"),
        pytest.param(["--jsno"], "pytest-extract: error: unrecognized arguments: --jsno", id="option-without-command"),
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
        "try: main(['schema', 'print'])\n"
        "finally: print(sorted(n for n in sys.modules if n.startswith('pytest_extract.cli')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{")
    assert done.stderr.strip() == "['pytest_extract.cli', 'pytest_extract.cli.files', 'pytest_extract.cli.schema']"


def loaded_by(tmp_path, *arguments):
    """Return the modules that a command loads, of the package and of the libraries that take long to import."""
    heavy = ["jsonschema", "statistics", "fractions", "rapidfuzz", "numpy", "lxml", "jinja2", "yaml", "dataclasses"]
    code = (
        f"import sys; sys.argv = ['pytest-extract', *{list(arguments)!r}]\n"
        "from pytest_extract.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "finally: print('LOADED', *sorted(name for name in sys.modules if name.startswith('pytest_extract.') "
        f"or name in {heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_help_loads_the_list_of_commands_and_nothing_else(tmp_path):
    assert loaded_by(tmp_path, "--help") == {"pytest_extract.cli", "pytest_extract.lazy"}


def test_score_loads_no_cases_and_no_reports(tmp_path):
    for name, text in (("s", '{"properties": {"a": {"type": "string"}}}'), ("g", '{"a": "x"}'), ("o", '{"a": "y"}')):
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    loaded = loaded_by(tmp_path, "score", "s.json", "g.json", "o.json")
    unused = (
        "cases.load",
        "core.aggregate",
        "evidence",
        "golds",
        "regression",
        "report.diff",
        "schema_tools.golds",
    )
    assert {name for name in loaded if name.startswith(tuple(f"pytest_extract.{name}" for name in unused))} == set()
    assert {name for name in loaded if not name.startswith("pytest_extract.")} <= {"dataclasses", "fractions"}
