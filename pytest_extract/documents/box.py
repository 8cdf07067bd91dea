"""A place on a page."""

from __future__ import annotations

from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle on a page as it is shown: shares of its width and height in [0, 1], from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float
