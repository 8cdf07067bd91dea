"""What a run will write is tried before anything is paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_extract.report.formats import FORMATS

OUTPUTS = {
    **{each.name: [f"--extract-report={each.name}:{{}}/r"] for each in FORMATS},
    "baseline": ["--extract-baseline={}/b.json", "--extract-update-baseline", "--extract-force"],
    "recordings": ["--extract-record=once", "--extract-recordings={}/r"],
}
COUNTED = """
import pytest
from pathlib import Path

@pytest.fixture(scope="session")
def extractor():
    def extract(document):
        Path("called").touch()
        return document.text
    return extract
"""


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("place", ["/proc/nowhere", "file"])
@pytest.mark.parametrize("args", [[], ["-n1"]], ids=["plain", "n1"])
def test_what_cannot_be_written_is_not_paid_for(
    pytester: pytest.Pytester, write_case: Callable[..., None], option: str, place: str, args: list[str]
) -> None:
    if place.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    pytester.makeconftest(COUNTED)
    write_case("a")
    (pytester.path / "file").touch()
    before = sorted(pytester.path.iterdir())
    result = pytester.runpytest("-pno:cacheprovider", *(each.format(place) for each in OUTPUTS[option]), *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option if option in {"baseline", "recordings"} else "report"
    result.stderr.fnmatch_lines([f"*--extract-{name}: cannot write *{place}/*: *; name a f* that can be written"])
    assert [path for path in sorted(pytester.path.iterdir()) if path not in before and path.name != "__pycache__"] == []


def test_all_that_cannot_be_written_is_told_at_once(pytester: pytest.Pytester, write_case: Callable[..., None]) -> None:
    write_case("a")
    (pytester.path / "file").touch()
    pytester.mkdir("folder")
    result = pytester.runpytest(
        "--extract-report=csv:folder", "--extract-report=file/r.csv", "--extract-report=new/r.jsonl"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--extract-report: cannot write *folder: it is a folder; *", "*--extract-report: cannot write *r.csv: *"]
    )
    assert not (pytester.path / "new").exists()


@pytest.mark.usefixtures("echo")
def test_folders_that_are_not_there_are_made_when_they_are_needed(
    pytester: pytest.Pytester, write_case: Callable[..., None]
) -> None:
    write_case("a")
    args = [each.format(f"new/{name}") for name, option in OUTPUTS.items() for each in option]
    pytester.runpytest("--collect-only", *args)
    assert not (pytester.path / "new" / "html").exists()
    pytester.runpytest(*args).assert_outcomes(passed=1)
    found = {path.parent.name for path in (pytester.path / "new").rglob("*") if path.is_file()}
    assert found >= {*OUTPUTS} - {"recordings"}
    assert any((pytester.path / "new" / "recordings").rglob("*.json"))
