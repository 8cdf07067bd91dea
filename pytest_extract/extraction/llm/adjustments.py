"""What of a request is changed for a model that refuses it: wishes are left out, and a limit gets its other name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pytest_extract.core.values import Json
from pytest_extract.extraction.llm.errors import status_of

_SAYINGS: Final[Mapping[str, str]] = {
    "response_format": r"response\W?(?:format|schema|mime)|json\W?(?:schema|mode|object)|(?:structured|guided)\W?\w+"
}
"""How providers call an option apart from its own name."""
_OTHER_NAME: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_NO_SUCH_OPTION: Final = r"unsupported|not supported|unknown|unrecogni[sz]ed|not permitted|extra inputs|unexpected"
_NOT_AS_ASKED: Final = frozenset({400, 422})

Adjustments = Mapping[str, str | None]
"""Names of options -> the name under which a model takes them, None where it takes none."""


def adjustments_after(litellm: Any, error: Exception, wishes: Collection[str], own: Collection[str]) -> Adjustments:
    """Return what to change of a request after an error that names its options; nothing for other errors.

    Wishes are left out; the user's `own` options are not, and may get another name. litellm's own error is about
    options in any case: where it names none, all wishes go.
    """
    if status_of(error) not in _NOT_AS_ASKED:
        return {}
    told = f"{error} {getattr(error, 'param', None) or ''}"
    named = [name for name in wishes if _names(told, name)]
    if isinstance(error, litellm.UnsupportedParamsError):
        return dict.fromkeys(named or wishes)
    limits = [name for name in own if _OTHER_NAME.get(name, name) not in own and _names(told, name)]
    return {**dict.fromkeys(named), **{name: _OTHER_NAME[name] for name in limits if _is_refusal(told)}}


def adjusted(options: Mapping[str, Json], adjustments: Adjustments) -> dict[str, Json]:
    """Return the options as a model takes them."""
    names = {name: adjustments.get(name, name) for name in options}
    return {new: options[name] for name, new in names.items() if new is not None}


def adjustment_texts(model: str, options: Mapping[str, Json], adjustments: Adjustments) -> tuple[str, ...]:
    """Say what was changed."""
    return tuple(
        f"{model} refuses the option `{name}`: asked {'without it' if new is None else f'with `{new}`'}"
        for name, new in adjustments.items()
        if name in options
    )


def _names(told: str, option: str) -> bool:
    own = option.replace("_", r"[\W_]?")
    said = rf"(?<![A-Za-z_])(?:{own}|{_SAYINGS.get(option, own)})(?![A-Za-z_])"
    return re.search(said, told, re.IGNORECASE) is not None


def _is_refusal(told: str) -> bool:
    """Whether the name of an option is refused, not its value."""
    return re.search(_NO_SUCH_OPTION, told, re.IGNORECASE) is not None
