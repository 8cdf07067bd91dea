"""HTML as a type of its own: every text that is not `Markup` is escaped before it is put into an element."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from pytest_extract.report.lines import Line, safe_prose, shorten


class Markup(str):
    """HTML; any other text is escaped before it becomes part of it."""

    __slots__ = ()


Part: TypeAlias = str | Markup | None

_VOID: Final = frozenset({"meta", "link", "input", "br", "hr"})


def escaped(text: str) -> Markup:
    """Escape markup, control characters, bidirectional overrides and lone surrogates."""
    return Markup(html.escape(text if text.isprintable() else safe_prose(text)))


def join(parts: Iterable[Part], between: str = "") -> Markup:
    """Join parts, without those that are None or empty."""
    return Markup(between.join(part if isinstance(part, Markup) else escaped(part) for part in parts if part))


def element(name: str, /, *parts: Part, **attributes: str | bool | int | None) -> Markup:
    """Write an element. `class_` is the attribute class, `data_x` data-x; None and False are left out."""
    start = f"<{name}{_attributes(attributes)}>" if attributes else f"<{name}>"
    return Markup(start if name in _VOID else f"{start}{join(parts)}</{name}>")


def _attributes(attributes: dict[str, str | bool | int | None]) -> str:
    texts = []
    for name, value in attributes.items():
        label = name.rstrip("_").replace("_", "-")
        if value is True:
            texts.append(f" {label}")
        elif value is not None and value is not False:
            texts.append(f' {label}="{escaped(str(value))}"')
    return "".join(texts)


def styled(spans: Line) -> Markup:
    """Write a line of styled spans."""
    return join(
        escaped(span.text)
        if span.style == "plain"
        else element("mark" if span.style == "mark" else "span", span.text, class_=span.style)
        for span in spans
    )


def preformatted(lines: Iterable[Line]) -> Markup:
    """Write lines as preformatted text."""
    return element("pre", join((styled(each) for each in lines), "\n"), tabindex=0)


def share_bar(share: float, tone: str) -> Markup:
    """Draw a share as a bar beside its number."""
    width = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
    rect = element("rect", width=width, height="100%", class_=tone)
    return element("svg", rect, class_="bar", aria_hidden="true")


def bullet_list(texts: Sequence[str], *, most: int, longest: int) -> Markup | None:
    """Write texts as a list, and count those beyond `most`; None without any."""
    if not texts:
        return None
    left = len(texts) - most
    more = element("li", f"… and {left:,} more") if left > 0 else None
    return element("ul", *(element("li", shorten(text, longest)) for text in texts[:most]), more)
