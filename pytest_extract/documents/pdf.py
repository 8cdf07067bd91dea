"""Text of a PDF, page by page, through pypdf (extra `pdf`); hostile files are bounded and told, never fatal."""

from __future__ import annotations

import io
import logging
import warnings
from typing import Any

from pytest_extract.core.results import FailureKind
from pytest_extract.documents.errors import DocumentError


def pdf_pages(data: bytes, name: str, *, max_pages: int, max_text: int) -> tuple[str, ...]:
    """Return the text of each page.

    Raises DocumentError: pypdf is not installed, the file is broken or locked, or it has more than `max_pages` pages or
    `max_text` characters (kind `page_limit`).
    """
    try:
        import pypdf
    except ImportError:
        message = f"{name}: the text of a PDF needs pypdf; install it: pip install 'pytest-extract[pdf]'"
        raise DocumentError(message) from None
    quiet = logging.getLogger("pypdf")
    before, quiet.level = quiet.level, logging.CRITICAL  # a scan's oddities are not the test run's news
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _pages(pypdf.PdfReader(io.BytesIO(data)), name, max_pages, max_text)
    except DocumentError:
        raise
    except pypdf.errors.DependencyError as error:  # AES, as most banks and portals encrypt
        message = f"{name}: the PDF is encrypted, and pypdf cannot open it alone: {error}; pip install 'pypdf[crypto]'"
        raise DocumentError(message) from error
    except (Exception, RecursionError) as error:  # pypdf raises anything on a broken file
        raise DocumentError(f"{name}: is no readable PDF: {type(error).__name__}: {error}") from error
    finally:
        quiet.level = before


def _pages(reader: Any, name: str, max_pages: int, max_text: int) -> tuple[str, ...]:
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError(f"{name}: the PDF is locked by a password")
    count = len(reader.pages)
    if count > max_pages:
        message = f"{name}: the PDF has {count} pages, more than the {max_pages} that are read"
        raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    pages: list[str] = []
    length = 0
    for page in reader.pages:
        pages.append(page.extract_text())
        length += len(pages[-1])
        if length > max_text:
            message = f"{name}: the text of page {len(pages)} passes {max_text} characters"
            raise DocumentError(message, kind=FailureKind.PAGE_LIMIT)
    return tuple(pages)
