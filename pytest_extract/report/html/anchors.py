"""Fragments that links to cases end in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from pytest_extract.core.case_result import CaseResult

Places: TypeAlias = Mapping[tuple[str, str], str]
"""Case and arm, as a comparison names them -> the fragment of the case, where it is on the page."""

_LONGEST: Final = 48


def anchor(result: CaseResult) -> str:
    """Return the fragment of a case, the same in every run: readable, and with a digest, for names may be alike."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{result.case_id} {result.arm.label}"[:1_000].lower()).strip("-")
    digest = hashlib.sha256(result.nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:_LONGEST].strip('-') or 'case'}-{digest}"
