"""When something is due, by a length of time and by a time of day."""

import pytest

from lochan.config.schedule import Schedule, parse_schedule

HOUR, DAY = 3_600_000_000, 86_400_000_000


@pytest.mark.parametrize(
    "text, schedule",
    [
        ("1h", Schedule(HOUR)),
        ("1.5h", Schedule(HOUR * 3 // 2)),
        ("90s", Schedule(90_000_000)),
        ("7D", Schedule(7 * DAY)),
        ("03:30", Schedule(of_day_us=HOUR * 7 // 2)),
        ("off", Schedule()),
    ],
)
def test_what_can_be_said(text: str, schedule: Schedule) -> None:
    assert parse_schedule(text) == schedule
    assert schedule.is_on == (text != "off")


@pytest.mark.parametrize("text", ["", "0s", "0.5s", "1", "1w", "24:00", "3:00", "-1h", "hourly", "9" * 30 + "d"])
def test_what_cannot(text: str) -> None:
    with pytest.raises(ValueError):
        parse_schedule(text)


def test_by_a_length_of_time() -> None:
    hourly = parse_schedule("1h")
    assert hourly.before(10 * HOUR) == 9 * HOUR
    assert hourly.due(9 * HOUR, 9 * HOUR + 1) == 10 * HOUR


@pytest.mark.parametrize(
    "last, now, due",
    [
        pytest.param(0, 5 * HOUR, 3 * HOUR, id="overdue since three"),
        pytest.param(3 * HOUR + 1, 5 * HOUR, DAY + 3 * HOUR, id="done today"),
        pytest.param(0, 2 * HOUR, 3 * HOUR, id="done yesterday, and it is not yet three"),
        pytest.param(-22 * HOUR, 2 * HOUR, -21 * HOUR, id="not done yesterday"),
    ],
)
def test_by_a_time_of_day(last: int, now: int, due: int) -> None:
    at_three = parse_schedule("03:00")
    shift = 400 * DAY  # away from 1970, where times would be negative
    assert at_three.due(last + shift, now + shift) == due + shift
