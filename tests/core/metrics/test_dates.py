from __future__ import annotations

import pytest

from tests.core.metrics.helpers import bound


@pytest.mark.parametrize(
    ("params", "gold", "extracted", "score"),
    [
        ({}, "2024-03-15", "20240315", 1.0),
        ({}, "2024-03-15", "2024-03-15T10:30:00Z", 1.0),
        ({"time": True}, "2024-03-15", "2024-03-15T10:30:00Z", 0.0),
        ({"time": True}, "2024-03-15T10:30", "2024-03-15T10:30:00+05:00", 0.0),
        ({"time": True}, "2024-03-15T10:30+05:00", "2024-03-15T10:30:00", 0.0),
        ({"time": True, "zone": "gold"}, "2024-03-15T10:30", "2024-03-15T10:30:00+05:00", 1.0),
        ({"time": True, "zone": "gold"}, "2024-03-15T10:30+05:00", "2024-03-15T10:30:00", 0.0),
        ({"time": True, "zone": "either"}, "2024-03-15T10:30+05:00", "2024-03-15T10:30:00", 1.0),
        ({"time": True, "zone": "either"}, "2024-03-15T10:30+05:00", "2024-03-15T10:31:00", 0.0),
        ({"time": True, "zone": "either"}, "2024-03-15T10:30+05:00", "2024-03-15T10:30:00Z", 0.0),
        ({"time": True}, "2024-01-01T00:30+01:00", "2023-12-31T23:30Z", 1.0),
        ({"time": True}, "0001-01-01T00:00+23:00", "9999-12-31T23:59-23:00", 0.0),
        ({}, "2024-03-15", "2024\u201103\u201115", 1.0),
        ({}, "2024-02-30", "2024-02-30", 1.0),
        ({}, "2024-02-30", "2024-03-01", 0.0),
        ({}, 2024, "2024", 1.0),
        ({"order": "DMY"}, "2024-04-03", "03/04/2024", 1.0),
        ({"order": "MDY"}, "2024-03-04", "03/04/2024", 1.0),
        ({"order": "YMD"}, "2024-03-04", "2024. 3. 4.", 1.0),
        ({"order": "YMD"}, "2024-03-04", "03/04/2024", 0.0),
        ({"order": "DMY"}, "2024-03-15", "Freitag, 15. März 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "le 15 mars 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "15 de marzo de 2024", 1.0),
        ({"order": "MDY"}, "2024-03-15", "Mar. 15th, 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "15.03.2024 10:30", 1.0),
        ({"order": "DMY"}, "2024-03-15", "15.03.24", 0.0),
        ({"order": "DMY"}, "2024-03-15", "15.03.2024, 10:30 Uhr", 1.0),
        ({"order": "DMY"}, "2024-03-15", "15 mars 2024 à 10h30", 1.0),
        ({"order": "DMY"}, "2024-03-15", "Ven 15 marzo 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "Berlin, den 15. März 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "sexta-feira, 15 de março de 2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "2024/03/15", 1.0),
        ({"order": "MDY"}, "2024-03-15", "2024-3-15", 1.0),
        ({"order": "MDY"}, "2024-03-15", "2024-15-3", 0.0),
        ({"order": "YMD"}, "2024-03-15", "2024年3月15日", 1.0),
        ({"order": "YMD"}, "2024-03", "2024年 3月", 1.0),
        ({"order": "DMY"}, "2024-03-15", "１５．３．２０２４", 1.0),
        ({"order": "DMY"}, "2024-03-15", "\u200e15.\u00a0März\u00a02024\u200e", 1.0),
        ({"order": "DMY"}, "2024-03-15", "15\u00ad.03.2024", 1.0),
        ({"order": "DMY"}, "2024-03-15", "32.03.2024", 0.0),
        ({"order": "MDY", "time": True}, "2024-03-15T17:30", "3/15/2024 5:30 PM", 1.0),
        ({"order": "MDY", "time": True}, "2024-03-15T05:00", "March 15, 2024 at 5 a.m.", 1.0),
        ({"order": "MDY", "time": True}, "2024-03-15T00:10", "3/15/2024 12:10 AM", 1.0),
        ({"order": "MDY", "time": True}, "2024-03-15T13:00", "3/15/2024 13:00 PM", 0.0),
        ({"order": "DMY"}, "2024-03-15", "15 March 24", 0.0),
        ({"order": "DMY"}, "2024-03-15", "15 mar. 2024", 1.0),
        ({"time": True}, "2024-03-15T10:00:00.5Z", "2024-03-15T10:00:00,500Z", 1.0),
        ({"time": True}, "2024-03-15T10:00:00.1Z", "2024-03-15T10:00:00.9Z", 0.0),
        ({"time": True}, "2024-03-15T10:00:00Z", "2024-03-15 10:00:00 UTC", 1.0),
        ({"time": True}, "2024-03-15T10:00:00Z", "2024-03-15t11:00:00+01:00", 1.0),
        ({}, "2024-03-15", "2024-03-15 10:00:00 GMT", 1.0),
        ({}, "2024-03-15", 20240315, 1.0),
        ({}, 20240230, "2024-02-30", 0.0),
        ({}, "Q3 2024", "Q3 2024", 1.0),
        ({}, "Q3 2024", "Q4 2024", 0.0),
        ({"order": "DMY"}, "circa 1900", "1900", 0.0),
        ({"formats": "%d.%m.%y"}, "15.03.24", "15.3.24", 1.0),
        ({"formats": ["%d.%m.%y", "%B %Y"]}, "01.01.69", "1.1.70", 0.0),
        ({"formats": ["%Y", "%y"]}, "1969", "69", 1.0),
        ({"formats": "%d \t %B  %Y"}, "15 March 2024", "15  March\n2024", 1.0),
        ({"formats": "%d" + " " * 12 + "%Y"}, "1 2024", "1" + " " * 90 + "x", 0.0),
        ({"formats": ["%Y", "%y"]}, "2068", "68", 1.0),
        ({"formats": "%d/%m/%Y %H:%M", "time": True}, "15/03/2024 9:30", "15/03/2024 09:30", 1.0),
        ({"formats": "%d/%m/%Y"}, "2024-03-15", "15/03/2024", 0.0),
        ({"formats": "100%% %Y"}, "100% 2024", "100%  2024", 1.0),
        ({"partial": "either", "order": "DMY"}, "15.03.2024", "March 2024", 1.0),
        ({"partial": "gold", "order": "DMY"}, "15.03.2024", "March 2024", 0.0),
        ({"partial": "gold"}, "2024", "2024-12", 1.0),
        ({"partial": "either"}, "2024-03", "2024-04-01", 0.0),
        ({"tolerance_days": 1}, "2024-03-01", "2024-02-29", 1.0),
        ({"tolerance_days": 1}, "2024-03", "2024-04", 0.0),
        ({"order": "DMY"}, "unknown", "unknown", 1.0),
        ({"order": "DMY"}, "1" * 200, "2024", 0.0),
    ],
)
def test_dates(params, gold, extracted, score):
    assert bound("date", params).compare(gold, extracted) == score


@pytest.mark.parametrize(
    ("gold", "extracted", "reason"),
    [
        ("2024-03-15", "2024-03-14", "2024-03-15 expected, got 2024-03-14"),
        ("2024-03", "2024-05", "2024-03 expected, got 2024-05"),
        ("2024-03-15", "2024-03", "2024-03-15 expected, got 2024-03"),
        ("2024-03-15", "soon", 'not a date in the declared forms: "soon"'),
    ],
)
def test_reasons(gold, extracted, reason):
    assert bound("date").explain(gold, extracted) == reason


def test_times_that_differ_are_told():
    metric = bound("date", {"time": True})
    assert (
        metric.explain("2024-03-15T10:00", "2024-03-15T11:00")
        == "2024-03-15T10:00:00 expected, got 2024-03-15T11:00:00"
    )


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("First of December 2024", 1),
        ("December first, 2024", 1),
        ("the twenty-first of December, 2024", 21),
        ("Thirty first December 2024", 31),
        ("December twentieth, 2024", 20),
    ],
)
def test_a_day_may_be_written_as_a_word(text, day):
    compare = bound("date", {"order": "DMY"}).compare
    assert compare(f"2024-12-{day:02}", text) == 1.0
    assert compare("2024-12-11", text) == 0.0


@pytest.mark.parametrize(
    ("formats", "gold", "extracted", "score"),
    [
        ("%d%b%y", "1Nov24", "11Jan24", 0.0),
        (["%Y-%m-%d", "%d%b%Y"], "2024-12-01", "1Dec2024", 1.0),
        (["%Y-%m-%d", "%b%d, %Y"], "2024-01-15", "Jan15, 2024", 1.0),
        (["%Y-%m-%d", "Dec %d %B %Y"], "2024-03-01", "Dec 1 March 2024", 1.0),
    ],
)
def test_names_of_months_need_nothing_between(formats, gold, extracted, score):
    assert bound("date", {"formats": formats}).compare(gold, extracted) == score
