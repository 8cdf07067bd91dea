from __future__ import annotations

import re

import pytest

from pytest_extract.core.case_result import CaseResult
from pytest_extract.core.scorer import compile_schema
from pytest_extract.report.markdown import LIMIT, MARKER, MOST_CASES, markdown
from pytest_extract.report.run_report import RunReport
from tests.report.runs import GOLD, TEXT, broken, scored, wrong

HOSTILE = {
    "table": "a | b | c",
    "code": "`x` ``` ````",
    "fence": "```\n\n# heading\n\n```",
    "mention": "@team please",
    "issue": "#12 GH-12 owner/repo#3",
    "html": "</summary></details><img src=x onerror=alert(1)><!--",
    "link": "[x](javascript:alert(1)) http://evil.example www.evil.example <https://evil.example>",
    "emphasis": "*a* _b_ ~~c~~ __d__",
    "direction": "\u202egnihtyna\u202c",
    "math": "$x$ $$y$$",
}


def told(*results: CaseResult, **keys: object) -> str:
    return markdown(RunReport(results=results, **keys))  # type: ignore[arg-type]


def outside_fences(text: str) -> str:
    """Return what GitHub reads as Markdown: fences open and close with the same number of backticks."""
    return re.sub(r"^(`{3,})text$.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_no_markup(value: str) -> None:
    scorer = compile_schema({"type": "object", "properties": {value: TEXT}})
    bad = scored(value, {value: value, "more": value}, gold={value: "gold"}, scorer=scorer, model=value)
    text = told(bad, broken(value, value), mistakes=[value], suite=[(False, value)], gate="suite")
    plain = outside_fences(text.removeprefix(f"{MARKER}\n"))
    assert "text" not in re.findall(r"^`+(\w*)$", plain, re.MULTILINE)
    code = re.findall(r"<code>(.*?)</code>", plain)
    assert len(code) >= 4
    assert all(re.fullmatch(r"(?:&#\d+;|[\w ./:,;%()-])*", each) and "_" not in each for each in code)
    rest = re.sub(r"<code>.*?</code>", "", plain)
    assert not re.search(r"[@`*_\[\]$~]|https?:|www\.|<(?!/?(?:details|summary)>)", rest)
    assert rest.count("<details>") == rest.count("</details>") == 3
    rows = [row for row in plain.splitlines() if row.startswith("|")]
    assert {row.count("|") for row in rows} == {5}


def test_a_comment_has_room_for_all_of_it() -> None:
    items = [{"name": "漢字 🦊" * 200, "price": index} for index in range(30)]
    results = [scored(f"case-{index}", wrong(vendor="🦊" * 5_000, items=items), gold=GOLD) for index in range(80)]
    text = told(*results)
    assert len(text.encode("utf-16-le")) // 2 <= LIMIT
    shown = text.count("<details>") - 1  # the first has fields and numbers
    assert 0 < shown <= MOST_CASES
    assert text.endswith(f"\n{80 - shown} more cases not green; the results file has them.\n")
    assert text.count("</details>") == shown + 1


def test_an_opening_that_is_too_long_is_cut_between_paragraphs() -> None:
    text = told(scored("a", wrong(total=1)), mistakes=["x" * 900 + "\n" + ("y" * 900 + "\n") * 200])
    assert len(text) <= LIMIT
    assert text.startswith(f"{MARKER}\n## ❌ Failed\n")
    assert "What stands here is too long for a comment" in text
    assert "1 case: 1 failed" in text
    assert text.count("```") % 2 == 0


def test_reasons_that_are_left_out_are_counted_in_an_item_of_their_own() -> None:
    bounds = [(False, f"bound {index} is missed") for index in range(40)]
    items = [row for row in told(scored("a", GOLD), suite=bounds, gate="suite").splitlines() if "more" in row]
    assert items == ["- … and 17 more"]


def test_a_green_run_is_short() -> None:
    assert told(scored("a", GOLD)) == (
        f"{MARKER}\n## ✅ Passed\n\n- 1 case passed\n\n<details>\n<summary>Fields and numbers</summary>\n"
        "\n```text\n1 case: 1 passed; fields right 100 %; f1 1\n```\n\n</details>\n"
    )
