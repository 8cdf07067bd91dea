"""Digests of texts."""

from __future__ import annotations

import hashlib


def sha256(text: str) -> str:
    """SHA-256 of a text, hex; lone surrogates count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
