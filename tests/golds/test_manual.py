"""The manual's page on golds shows the output of its commands."""

from __future__ import annotations

import re
import shlex
from importlib import resources

import pytest

from pytest_extract.cli import main

PAGE = (resources.files("pytest_extract.docs") / "golds.md").read_text(encoding="utf-8")
(CASE,) = re.findall(r"(?m)^```yaml\n(.*?)^```", PAGE, re.DOTALL)
CONSOLE = re.findall(r"(?m)^```console\n\$ ([^\n]+)\n(.*?)^```", PAGE, re.DOTALL)


def test_both_commands_are_shown():
    assert [command for command, _ in CONSOLE] == ["pytest-extract check --mutate", "pytest-extract check --coverage"]


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_a_command_prints_what_the_page_shows(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], command: str, shown: str
) -> None:
    (pytester.path / "invoice.extract.yaml").write_text(CASE, encoding="utf-8")
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == shown
