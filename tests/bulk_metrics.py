"""A project's own functions, as worker processes import them: some end the process that calls them."""

from __future__ import annotations

import os
import signal

from pytest_extract import Verdict, extend


@extend.metric()
def fragile(gold: object, extracted: object) -> float:
    if extracted == "segmentation fault":
        os.kill(os.getpid(), signal.SIGKILL)
    if extracted == "exit":
        os._exit(3)
    return float(gold == extracted)


def ibm_judge(questions):
    return [Verdict(1.0, "a nickname") if question.extracted == "Big Blue" else None for question in questions]


@extend.metric()
def dies_once(gold: object, extracted: object, *, marker: str) -> float:
    """End the process at the first call that finds no marker."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return float(gold == extracted)
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0
