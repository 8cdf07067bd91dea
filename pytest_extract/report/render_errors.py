"""What a report says of a case, or of a part of itself, that it cannot show: a defect costs a text, never the run."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

from pytest_extract.report.lines import safe_prose, shorten

_PACKAGE: Final = Path(__file__).parents[1]
_MESSAGE: Final = 200


def render_error(what: str, error: Exception) -> str:
    """Say that `what` cannot be shown, why, and at which line of ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
    said = shorten(safe_prose(f"{type(error).__name__}: {error}"), _MESSAGE)
    return f"{what} cannot be shown: {said}{place}; this is a defect of pytest-extract, the verdict holds"
