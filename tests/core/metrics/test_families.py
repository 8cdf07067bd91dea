"""The table of metrics knows all names without an import, and imports the family of the metric that is asked for."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from pytest_extract.core import metrics
from pytest_extract.core.metrics import _FAMILIES, METRICS


def test_the_table_names_every_metric_of_every_module_in_the_order_of_its_specs() -> None:
    modules = {
        found.name: import_module(f"{metrics.__name__}.{found.name}")
        for found in pkgutil.iter_modules(metrics.__path__)
    }
    found = {
        name: tuple(spec.name for spec in module.SPECS) for name, module in modules.items() if hasattr(module, "SPECS")
    }
    assert found == dict(_FAMILIES)
    assert [*METRICS] == [name for names in _FAMILIES.values() for name in names]
    assert {name: spec.name for name, spec in METRICS.items()} == {name: name for name in METRICS}


def test_a_name_that_is_no_metric_is_a_key_error() -> None:
    assert "nothing" not in METRICS
    assert METRICS.get("nothing") is None
    with pytest.raises(KeyError, match="nothing"):
        METRICS["nothing"]


FAMILIES_LOADED = """
import sys
from pytest_extract import compile_schema
{code}
families = {families}
print(*sorted(name for name in families if "pytest_extract.core.metrics." + name in sys.modules))
"""


MISSPELT = """
try:
    compile_schema({'properties': {'a': {'type': 'string', 'evaluation_config': 'strin_fuzzy'}}})
except Exception as error:
    assert "did you mean 'string_fuzzy'" in str(error), error
"""


@pytest.mark.parametrize(
    ("code", "families"),
    [
        ("compile_schema({'properties': {'a': {'type': 'string'}}})", "exact"),
        ("compile_schema({'properties': {'a': {'type': 'number'}}})", "exact numbers"),
        (
            "compile_schema({'properties': {'a': {'type': 'string', 'evaluation_config': 'string_fuzzy'}}})",
            "exact texts",
        ),
        (MISSPELT, ""),
    ],
    ids=["text", "number", "named", "misspelt"],
)
def test_a_schema_imports_the_families_that_it_names(code: str, families: str) -> None:
    script = FAMILIES_LOADED.format(code=code, families=[*_FAMILIES])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == families.split()
