"""Outputs for items: the user's extractor or the built-in one, called now."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_extract.extractors.base import Extraction
from pytest_extract.extractors.call import call_extractor
from pytest_extract.extractors.loop import BackgroundLoop
from pytest_extract.plugin import arms
from pytest_extract.plugin.options import Settings

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case
    from pytest_extract.plugin.items import ExtractItem


class Calls:
    """The one place where outputs come from. `extraction` is what a scheduler that calls ahead stands in for."""

    def __init__(self, settings: Settings, root: Path) -> None:
        self._settings = settings
        self._root = root
        self._loop = BackgroundLoop()
        self._built_in: dict[str, Callable[..., Any]] = {}

    @property
    def may_replay(self) -> bool:
        """Whether an output may come from elsewhere, so that making the extractor can wait until it is called."""
        return False

    @property
    def replays_only(self) -> bool:
        """Whether no extractor is ever called."""
        return False

    def extraction(self, item: ExtractItem, index: int) -> Extraction:  # noqa: ARG002
        """Return the output of repeat `index`; raises what the extractor raises."""
        return self._call(item)

    def _call(self, item: ExtractItem) -> Extraction:
        case = item.case
        return call_extractor(
            self.extractor_for(item),
            loop=self._loop,
            document=case.document,
            schema=case.schema,
            question=case.question,
            prompt=case.prompt,
            model=item.arm.model,
            case=case,
        )

    def extractor_for(self, item: ExtractItem) -> Any:
        """Return the project's extractor; without one, the built-in one for the arm's model."""
        if arms.visible(item, arms.EXTRACTOR):
            return item.fixture(arms.EXTRACTOR)
        model = item.arm.model
        assert model is not None  # noqa: S101  # check_ready has refused the item otherwise
        if model not in self._built_in:
            from pytest_extract.extractors.litellm import LitellmExtractor

            self._built_in[model] = LitellmExtractor(model=model, mode=self._settings.mode)
        return self._built_in[model]

    def close(self) -> None:
        """End the thread that ran coroutines."""
        self._loop.close()


def with_prompt(case: Case, prompt: Any) -> Case:
    """Return the case with the prompt of its arm in place of its own."""
    return case if prompt is None else dataclasses.replace(case, prompt=prompt)
