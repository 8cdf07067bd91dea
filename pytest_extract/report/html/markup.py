"""HTML that is known to be safe: text that is not yet `Markup` is made harmless on its way in."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final, TypeAlias

from pytest_extract.report.lines import Line, Span, safe_prose


class Markup(str):
    """HTML, as opposed to text that has yet to be escaped."""

    __slots__ = ()


Part: TypeAlias = str | Markup | None

_VOID: Final = frozenset({"meta", "link", "input", "br", "hr"})


def escaped(text: str) -> Markup:
    """Make text harmless: markup escaped; controls, bidirectional overrides and lone surrogates spelled out."""
    return Markup(html.escape(text if text.isprintable() else safe_prose(text)))


def joined(parts: Iterable[Part], between: str = "") -> Markup:
    """Put parts side by side; None is left out."""
    return Markup(between.join(part if isinstance(part, Markup) else escaped(part) for part in parts if part))


def element(name: str, /, *parts: Part, **attributes: str | bool | int | None) -> Markup:
    """Write an element. `class_` is the attribute class, `data_x` is data-x; True stands alone, None and False go."""
    start = f"<{name}{_attributes(attributes)}>" if attributes else f"<{name}>"
    return Markup(start if name in _VOID else f"{start}{joined(parts)}</{name}>")


def _attributes(attributes: dict[str, str | bool | int | None]) -> str:
    told = []
    for name, value in attributes.items():
        label = name.rstrip("_").replace("_", "-")
        if value is True:
            told.append(f" {label}")
        elif value is not None and value is not False:
            told.append(f' {label}="{escaped(str(value))}"')
    return "".join(told)


def styled(spans: Line) -> Markup:
    """Write a line of styled spans."""
    return joined(_span(span) for span in spans)


def _span(span: Span) -> Markup:
    if span.style == "plain":
        return escaped(span.text)
    return element("mark" if span.style == "mark" else "span", span.text, class_=span.style)


def block(lines: Iterable[Line]) -> Markup:
    """Write lines as they stand, in columns."""
    return element("pre", joined((styled(each) for each in lines), "\n"), tabindex=0)


def share_bar(share: float, tone: str) -> Markup:
    """Draw a share as a bar; whoever reads has the number beside it."""
    width = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
    rect = element("rect", width=width, height="100%", class_=tone)
    return element("svg", rect, class_="bar", aria_hidden="true")
