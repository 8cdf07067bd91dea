from __future__ import annotations

from fractions import Fraction

import pytest

from pytest_extract.core.metrics.quantity import read_unit
from tests.core.metrics.helpers import bound


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("kWh", "3600000 J"),
        ("m²", "10000 cm^2"),
        ("N·m", "J"),
        ("kg per m3", "0.001 g/cm³"),
        ("kg m s-2", "N"),
        ("MiB", "1048576 bytes"),
        ("Mbit/s", "0.125 MB/s"),
        ("µm", "0.001 mm"),
        ("KG", "1000 g"),
        ("lbs.", "453.59237 g"),
        ("h", "60 min"),
        ("bar", "100 kPa"),
        ("%", "10000 ppm"),
        ("nmi/h", "kn"),
        ("mm Hg", "mmHg"),
        ("\u00b5m", "\u03bcm"),
        ("\u2126", "ohm"),
        ("\u212b", "0.1 nm"),
        ("sq ft", "0.09290304 m²"),
        ("cubic metre", "1000 L"),
        ("fl. oz.", "29.5735295625 ml"),
        ("mIU/mL", "1 IU/L"),
        ("U/L", "1 IU/L"),
        ("mcg", "1 µg"),
        ("Nm", "1 N·m"),
        ("Stunde", "60 Minuten"),
        ("year", "12 months"),
        ("VA", "1 W"),
        ("Stück", "1.0 stück"),
        ("mEq/L", "1.00 mEq/l"),
    ],
)
def test_equal_units(one, other):
    metric = bound("quantity")
    second = other if other[0].isdigit() else f"1 {other}"
    assert metric.compare(f"1 {one}", second) == 1.0


@pytest.mark.parametrize("text", ["kgg", "l/100 km", "k", "m//s x", "10"])
def test_no_unit(text):
    assert read_unit(text) is None


def test_the_table_tells_apart_what_case_tells_apart():
    milli, mega = read_unit("mW"), read_unit("MW")
    assert milli is not None
    assert mega is not None
    assert mega.factor / milli.factor == Fraction(10**9)


@pytest.mark.parametrize(
    ("params", "gold", "extracted", "score"),
    [
        ({}, "-40 °C", "-40 °F", 1.0),
        ({}, "0 °C", "273.15 K", 1.0),
        ({}, "20 degrees Celsius", "20 °C", 1.0),
        ({"unit": "kg"}, 5, "5000 g", 1.0),
        ({"unit": "kg"}, "5", "5 kg", 1.0),
        ({}, "5", 5, 1.0),
        ({}, "5 kg", 5, 0.0),
        ({"locale": "de"}, "1.234,5 m", "1,2345 km", 1.0),
        ({}, "5 widgets", "5 widgets", 1.0),
        ({}, "about 5 kg", "5 kg", 0.0),
        ({}, "5,000 /µL", "5 x 10^9/L", 1.0),
        ({}, "−5\u00a0°C", "-5 °C", 1.0),
        ({}, "5 Stück", "5 Stk", 0.0),
        ({}, "5 Stück", 5, 0.0),
        ({}, "5 HU", "500 IU", 0.0),
        ({}, "1 year", "365 days", 0.0),
        ({}, "10 x 20 cm", "20 x 10 cm", 0.0),
        ({}, "120/80 mmHg", "120/80 mmHg", 1.0),
        ({}, "5 kg (net)", "5 kg", 0.0),
        ({}, "< 0.5 ng/mL", "<0.50 ng/ml", 1.0),
        ({}, "< 0.5 ng/mL", "<= 0.5 ng/mL", 0.0),
        ({}, ">= 90 %", "≥ 0.9", 1.0),
        ({}, "3.5-5.0 mmol/L", "3.5 \u2013 5.0 mmol/l", 1.0),
        ({}, "3.5-5.0 mmol/L", "3500 \u00b5mol/L to 5000 \u00b5mol/L", 1.0),
        ({}, "3.5-5.0 mmol/L", "3.5-5.1 mmol/L", 0.0),
        ({}, "3.5-5.0 mmol/L", "3.5 mmol/L", 0.0),
        ({"locale": "de"}, "3,5 bis 5,0 kg", "3500-5000 g", 1.0),
        ({}, "5-3 kg", "3-5 kg", 0.0),
        ({}, "2024-05", "2024-05", 1.0),
        ({}, "1-2-3 kg", "1-2-3 kg", 1.0),
        ({}, "5 ft 11 in", "71 in", 1.0),
        ({}, "5'11\"", "5 ft 11 in", 1.0),
        ({}, "5'11\"", "5’11”", 1.0),
        ({}, "5 ft 11 in", "5 ft. 11 in.", 1.0),
        ({}, "5 sq ft", "5 sq. ft.", 1.0),
        ({}, "5 IU", "5 I.U.", 1.0),
        ({}, "-5 to 5 °C", "-5 to +5 °C", 1.0),
        ({}, "298.15 °C", "20 °C 5 °C", 0.0),
        ({"rel": 0.05}, "37 °C", "38 °C", 1.0),
        ({"rel": 0.05}, "37 °C", "41 °C", 0.0),
        ({"rel": 0.05}, "0 °C", "13 °C", 0.0),
        ({}, "1 h 30 min", "90 min", 1.0),
        ({}, "2 lb 3 oz", "35 oz", 1.0),
        ({}, "30 min 1 h", "90 min", 0.0),
        ({}, "5 kg 3 m", "5 kg", 0.0),
        ({}, "2 apples 3 pears", "2 apples 3 pears", 1.0),
    ],
)
def test_quantities(params, gold, extracted, score):
    assert bound("quantity", params).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("gold", "extracted", "reason"),
    [
        ("5 kg", "5 m", "5 kg expected, got 5 m"),
        ("5 kg", "6 kg", "5 kg expected, got 6 kg"),
        ("< 5 kg", "5-6 kg", "<5 kg expected, got 5 to 6 kg"),
        ("5 kg", "5 kgg", "5 kg expected, got 5 kgg"),
        ("5 kg", "about 5", 'not a quantity: "about 5"'),
    ],
)
def test_reasons(gold, extracted, reason):
    assert bound("quantity").explain(gold, extracted) == reason


@pytest.mark.parametrize(
    ("gold", "extracted", "score"),
    [
        ("4006381333931 g", "4006381333932 g", 0.0),
        ("1000000001 to 2000000001 kg", "1000000001 to 2000000002 kg", 0.0),
        ("1000000001 km 3 m", "1000000001 km 4 m", 0.0),
        ("1000000001.0 kg", "1000000002 kg", 0.0),
        ("1000000001 t", "1000000001000 kg", 1.0),
        ("1000000001.5 kg", "1000000001.6 kg", 1.0),
        ("100 °F", "37.7777777778 °C", 1.0),
    ],
)
def test_noise_is_of_fractions_and_whole_numbers_are_exact(gold, extracted, score):
    assert bound("quantity").compare(gold, extracted) == score


def test_a_tolerance_that_is_named_holds_for_whole_numbers():
    assert bound("quantity", {"rel": 1e-6}).compare("1000000001 kg", "1000000002 kg") == 1.0


def test_the_reason_shows_where_long_numbers_differ():
    reason = bound("quantity").explain("4006381333931 g", "4006381333932 g")
    assert reason == "4006381333.931 kg expected, got 4006381333.932 kg"
