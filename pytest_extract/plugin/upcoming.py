"""Which cases this process will run after the current one, as far as it knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from _pytest.outcomes import OutcomeException
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

from pytest_extract.plugin.arms import visible
from pytest_extract.plugin.items import ExtractItem


class Upcoming:
    """The items of a session in the order in which they run here; under xdist, those assigned so far."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._place = {id(item): place for place, item in enumerate(session.items)}
        self._worker = _xdist_worker(session.config)

    def after(self, item: ExtractItem) -> Iterator[ExtractItem]:
        """Yield the cases that follow `item` and will not be skipped."""
        items = self._session.items
        for place in self._places_after(item):
            following = items[place]
            if isinstance(following, ExtractItem) and will_run(following):
                yield following

    def _places_after(self, item: ExtractItem) -> Iterator[int]:
        if self._worker is not None:
            yield from _assigned(self._worker)
        elif id(item) in self._place:
            yield from range(self._place[id(item)] + 1, len(self._session.items))


def _xdist_worker(config: pytest.Config) -> Any:
    """Return xdist's object that runs this worker's items: it alone knows which were assigned."""
    if not hasattr(config, "workerinput"):
        return None
    plugins = config.pluginmanager.get_plugins()
    return next((each for each in plugins if hasattr(each, "torun") and hasattr(each, "nextitem_index")), None)


def _assigned(worker: Any) -> list[int]:
    """Return the places of items that wait for this worker: the next, and its queue (with a lock since xdist 3.7)."""
    queue = worker.torun
    lock = getattr(queue, "lock", None)
    if lock is not None:
        with lock() as waiting:
            places = list(waiting)
    else:
        places = list(getattr(queue, "queue", ()))
    return [place for place in (worker.nextitem_index, *places) if isinstance(place, int)]


def will_run(item: pytest.Item) -> bool:
    """Whether no mark keeps the item from being run; a mark that cannot be evaluated is told when its turn comes."""
    try:
        if evaluate_skip_marks(item) is not None:
            return False
        xfail = evaluate_xfail_marks(item)
    except (OutcomeException, Exception):  # noqa: BLE001  # conditions in marks are the user's code
        return False
    return xfail is None or xfail.run or bool(item.config.option.runxfail)


def made(item: ExtractItem, name: str) -> tuple[bool, Any]:
    """Whether a fixture's value for an item whose turn has not come is known already, and the value.

    So it is for one that outlives the items, of session scope, once the first of them has had it made.
    """
    definitions = item._fixtureinfo.name2fixturedefs.get(name)  # noqa: SLF001  # as in items.py
    if not definitions:
        return not visible(item, name), None
    definition = definitions[-1]
    cached = definition.cached_result
    if definition.scope != "session" or cached is None or cached[2] is not None:
        return False, None
    return True, cached[0]
