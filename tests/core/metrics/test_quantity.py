from __future__ import annotations

import pytest

from pytest_extract.core.metrics.quantity import read_unit
from tests.core.metrics.helpers import bound, check


@pytest.mark.parametrize("text", ["kgg", "l/100 km", "k", "m//s x", "10"])
def test_no_unit(text):
    assert read_unit(text) is None


@pytest.mark.parametrize(
    ("params", "gold", "alike", "unlike"),
    [
        ({}, "1 kWh", ["3600000 J"], []),
        ({}, "1 m²", ["10000 cm^2"], []),
        ({}, "1 N·m", ["1 J", "1 Nm"], []),
        ({}, "1 kg per m3", ["0.001 g/cm³"], []),
        ({}, "1 kg m s-2", ["1 N"], []),
        ({}, "1 MiB", ["1048576 bytes"], []),
        ({}, "1 Mbit/s", ["0.125 MB/s"], []),
        ({}, "1 µm", ["0.001 mm", "1 \u03bcm"], []),
        ({}, "1 KG", ["1000 g"], []),
        ({}, "1 lbs.", ["453.59237 g"], []),
        ({}, "1 h", ["60 min"], []),
        ({}, "1 bar", ["100 kPa"], []),
        ({}, "1 %", ["10000 ppm"], []),
        ({}, "1 nmi/h", ["1 kn"], []),
        ({}, "1 mm Hg", ["1 mmHg"], []),
        ({}, "1 \u2126", ["1 ohm"], []),
        ({}, "1 \u212b", ["0.1 nm"], []),
        ({}, "1 sq ft", ["0.09290304 m²", "1 sq. ft."], []),
        ({}, "1 cubic metre", ["1000 L"], []),
        ({}, "1 fl. oz.", ["29.5735295625 ml"], []),
        ({}, "1 IU/mL", ["1000 IU/L", "1 U/ml"], []),
        ({}, "1 mcg", ["1 µg"], []),
        ({}, "1 Stunde", ["60 Minuten"], []),
        ({}, "1 year", ["12 months"], []),
        ({}, "1 VA", ["1 W"], []),
        ({}, "1 Stück", ["1.0 stück"], []),
        ({}, "1 mEq/L", ["1.00 mEq/l"], []),
        # units apart, bounds, and what is no quantity
        ({}, "5 mW", ["0.005 W"], ["5 MW"]),
        ({}, "5 M", [], ["5 m"]),  # an unknown unit is no known one in another case
        ({}, "5 widgets", ["5 widgets", "5 Widgets"], ["5"]),
        ({}, "-40 °C", ["-40 °F"], []),
        ({}, "0 °C", ["273.15 K"], []),
        ({}, "20 °C", ["20 degrees Celsius"], []),
        ({}, "-5 °C", ["−5\u00a0°C"], []),
        ({"unit": "kg"}, 5, ["5000 g", "5 kg", "5"], []),
        ({}, "5", [5], []),
        ({}, "5 kg", [], [5, "about 5 kg", "5 kg (net)", "5 kg 3 m"]),
        ({"locale": "de"}, "1.234,5 m", ["1,2345 km"], []),
        ({}, "5,000 /µL", ["5 x 10^9/L"], []),
        ({}, "5 Stück", [], ["5 Stk", 5]),
        ({}, "5 HU", [], ["500 IU"]),
        ({}, "5 mIU/mL", ["5 IU/L", "5000 µU/mL"], ["5 MIU/mL"]),
        ({}, "1 year", [], ["365 days"]),
        ({}, "10 x 20 cm", [], ["20 x 10 cm"]),
        ({}, "120/80 mmHg", ["120/80 mmHg"], []),
        ({}, "< 0.5 ng/mL", ["<0.50 ng/ml"], ["<= 0.5 ng/mL"]),
        ({}, ">= 90 %", ["≥ 0.9"], []),
        # ranges
        ({}, "3.5-5.0 mmol/L", ["3.5 \u2013 5.0 mmol/l"], ["3.5-5.1 mmol/L", "3.5 mmol/L"]),
        ({}, "3.5-5.0 mmol/L", ["3500 \u00b5mol/L to 5000 \u00b5mol/L"], []),
        ({"locale": "de"}, "3,5 bis 5,0 kg", ["3500-5000 g"], []),
        ({}, "3-5 kg", [], ["5-3 kg"]),
        ({}, "2024-05", ["2024-05"], []),
        ({}, "1-2-3 kg", ["1-2-3 kg"], []),
        ({}, "-5 to 5 °C", ["-5 to +5 °C"], []),
        ({}, "-25 to -15 °C", ["-25 °C to -15 °C"], []),
        ({}, "5 ft", ["60 in", "5’", "60”"], []),
        ({}, "5 ft 11 in", ["5 ft  11 in"], ["71 in", "5 ft"]),
        # tolerances; without one, whole numbers are exact and fractions have their noise
        ({"rel": 0.05}, "37 °C", ["38 °C"], ["41 °C"]),
        ({"rel": 0.05}, "0 °C", [], ["13 °C"]),
        ({"rel": 0.3}, "10 mg", ["13 mg"], []),
        ({"rel": 1e-6}, "1000000001 kg", ["1000000002 kg"], []),
        ({}, "1000000001.0 kg", [], ["1000000002 kg"]),
        ({}, "4006381333931 g", [], ["4006381333932 g"]),
        ({}, "1000000001 to 2000000001 kg", [], ["1000000001 to 2000000002 kg"]),
        ({}, "1000000001 t", ["1000000001000 kg"], []),
        ({}, "1000000001.5 kg", ["1000000001.6 kg"], []),
        ({}, "100 °F", ["37.7777777778 °C"], []),
    ],
)
def test_quantities(params, gold, alike, unlike):
    check(bound("quantity", params), gold, alike, unlike)
