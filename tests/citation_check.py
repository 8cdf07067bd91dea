"""A hundred true and a hundred false citations of real documents, and how the check tells them apart.

`python -m tests.citation_check` prints precision, recall and time. The citations are made from the pages' text by plain
search, not by the evidence index that the check uses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_extract.citations import check_citations
from pytest_extract.core.results import Citation
from pytest_extract.core.values import iter_leaves
from pytest_extract.documents import Document


class Claim(NamedTuple):
    """A citation of a value, and whether it is true."""

    document: Document
    value: object
    citation: Citation
    true: bool
    kind: str


def documents(folder: Path) -> Iterator[tuple[Document, object]]:
    """Yield the PDFs with their golds."""
    import json

    for gold in sorted(folder.rglob("*.gold.json")):
        pdf = gold.with_name(gold.name.replace(".gold.json", ".pdf"))
        if pdf.exists():
            yield Document(path=pdf), json.loads(gold.read_text(encoding="utf-8"))


def claims(folder: Path, *, seed: int = 7, most_pages: int = 200) -> list[Claim]:
    """Make as many true as false citations: wrong page, other quote, changed quote, box elsewhere, in turn."""
    source = random.Random(seed)
    made: list[Claim] = []
    for document, gold in documents(folder):
        pages = document.pages
        if len(pages) > most_pages:
            continue
        values = [value for _, value in iter_leaves(gold) if isinstance(value, str) and 4 <= len(value) <= 60]
        source.shuffle(values)
        made += _claims_of(document, pages, values, source)
    return made


def _claims_of(document: Document, pages: tuple[str, ...], values: list[str], source: random.Random) -> Iterator[Claim]:
    count = 0
    for value in dict.fromkeys(values):
        found = [(number, page.find(value)) for number, page in enumerate(pages) if value in page]
        if not found:
            continue
        number, start = found[0]
        text = pages[number]
        quote = text[text.rfind("\n", 0, start) + 1 : (text.find("\n", start + len(value)) + 1 or len(text) + 1) - 1]
        (boxes,) = document.boxes([(number, start, start + len(value))])
        if not boxes or not quote.strip():
            continue
        box = (
            min(each.left for each in boxes), min(each.top for each in boxes),
            max(each.right for each in boxes), max(each.bottom for each in boxes),
        )  # fmt: skip
        yield Claim(document, value, Citation(page=number + 1, quote=quote, box=box), True, "true")
        yield _false(document, pages, value, number, quote, box, source, count % 4)
        count += 1
        if count == 10:
            return


def _false(document, pages, value, number, quote, box, source, kind):
    elsewhere = [index for index, page in enumerate(pages) if quote.strip() not in page and value not in page]
    lines = [line for line in pages[number].split("\n") if len(line) > 5 and value not in line]
    if kind == 0 and elsewhere:
        return Claim(document, value, Citation(page=source.choice(elsewhere) + 1, quote=quote), False, "wrong page")
    if kind == 1 and lines:
        return Claim(document, value, Citation(page=number + 1, quote=source.choice(lines)), False, "other quote")
    if kind == 2:
        left, top, right, bottom = box
        away = 0.5 if top < 0.5 else -0.5
        moved = (left, top + away, right, bottom + away)
        return Claim(document, value, Citation(page=number + 1, quote=quote, box=moved), False, "box elsewhere")
    changed = quote.replace(value, value[::-1] + "zq")
    return Claim(document, value, Citation(page=number + 1, quote=changed), False, "changed quote")


def check(made: list[Claim]) -> list[bool]:
    """Return for each claim whether the check calls it right."""
    by_document: dict[int, list[int]] = {}
    for index, claim in enumerate(made):
        by_document.setdefault(id(claim.document), []).append(index)
    right = [False] * len(made)
    for indices in by_document.values():
        cited = [(made[index].value, made[index].citation) for index in indices]
        for index, found in zip(indices, check_citations(made[indices[0]].document, cited), strict=True):
            right[index] = found.right
    return right


if __name__ == "__main__":
    from tests.shared_data import ROOT

    source = random.Random(1)
    everything = claims(ROOT / "data" / "extract-bench")
    true = [claim for claim in everything if claim.true]
    false = [claim for claim in everything if not claim.true]
    chosen = source.sample(true, min(100, len(true))) + source.sample(false, min(100, len(false)))
    started = time.process_time()
    for document in {id(claim.document): claim.document for claim in chosen}.values():
        document.release()
        document.pages  # noqa: B018
    read = time.process_time()
    called = check(chosen)
    ended = time.process_time()
    hits = sum(right and claim.true for right, claim in zip(called, chosen, strict=True))
    print(
        f"{len(true)} true and {len(false)} false made; {sum(c.true for c in chosen)} and {sum(not c.true for c in chosen)} checked"
    )
    print(f"precision {hits / max(sum(called), 1):.3f}, recall {hits / sum(c.true for c in chosen):.3f}")
    print(f"{read - started:.1f} s CPU to read the PDFs, {ended - read:.1f} s to index and check")
    for right, claim in zip(called, chosen, strict=True):
        if right != claim.true:
            print(claim.kind, claim.document.path.name, repr(claim.value), claim.citation)
