"""Hides secrets in what pytest writes of log records at once: live logs and `--log-file`."""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING

from pytest_extract.redact.secrets import clean_message
from pytest_extract.report.lines import safe_controls

if TYPE_CHECKING:
    import pytest


def clean_logs(config: pytest.Config) -> None:
    """Have live logs and the log file of a session show no secret; captured logs are cleaned with their report."""
    plugin = config.pluginmanager.getplugin("logging-plugin")
    if plugin is None:
        return
    for handler in (plugin.log_cli_handler, plugin.log_file_handler):
        handler.setFormatter(_CleanFormatter(handler.formatter))


class _CleanFormatter(logging.Formatter):
    """Formats as pytest does; the text of a record may come from a model, a provider or its client."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Escape harmful characters before pytest adds its colours, and hide secrets in whatever it has made."""
        shown = copy.copy(record)
        shown.msg, shown.args = safe_controls(record.getMessage()), None
        if record.exc_info:
            shown.exc_text = safe_controls(record.exc_text or self._inner.formatException(record.exc_info))
        shown.stack_info = record.stack_info and safe_controls(record.stack_info)
        return clean_message(self._inner.format(shown), "log")
