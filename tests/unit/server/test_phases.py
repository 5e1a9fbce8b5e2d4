"""Sums of seconds by operation and phase, and their page."""

import pytest

from lochan.api.server_times import OperationTime, ServerTimes, page, record
from lochan.server.phases import PhaseTimes

BOUNDS = (0.001, 0.002, 0.01)
PAGE = """\
S3 requests within 10 s
operation  requests  a second  p50 ms  p99 ms  ms each  signature  journal  bodies  lists  other
PutObject       200      20.0    1.51     >10     2.00         5%      90%      0%     0%     5%
GetObject     1,000       100    0.50    0.99     0.10        20%      50%      0%     0%    30%
"""


def test_times_are_summed_until_they_are_taken() -> None:
    times = PhaseTimes()
    times.add("GetObject", 1.0, 2.0, 3.0)
    times.add("GetObject", 1.0, lists=0.5)
    times.add("ListObjectsV2", 0.25)
    assert times.take() == {"GetObject": [2.0, 2.0, 3.0, 0.5], "ListObjectsV2": [0.25, 0.0, 0.0, 0.0]}
    assert times.take() == {}


def test_the_page_has_what_takes_most_first() -> None:
    get = OperationTime(1_000, {"signature": 0.02, "journal": 0.05, "other": 0.03}, [1_000, 0, 0, 0])
    put = OperationTime(200, {"signature": 0.02, "journal": 0.36, "other": 0.02}, [0, 197, 0, 3])
    times = ServerTimes(10.0, BOUNDS, {"GetObject": get, "PutObject": put, "HeadBucket": OperationTime(0, {})})
    assert page(times, "within 10 s") == PAGE
    assert page(ServerTimes(1.0, BOUNDS, {}), "").count("\n") == 2
    assert [each["operation"] for each in record(times)["operations"]] == ["PutObject", "GetObject"]
    assert record(times)["operations"][0]["p99_ms"] is None


@pytest.mark.parametrize(
    "buckets, share, seconds",
    [
        pytest.param([4, 0, 0, 0], 0.5, 0.0005, id="in the first"),
        pytest.param([2, 2, 0, 0], 0.75, 0.0015, id="half of the second"),
        pytest.param([1, 0, 1, 0], 0.99, 0.00984, id="an empty one is passed over"),
        pytest.param([0, 0, 0, 1], 0.5, None, id="beyond the last bound"),
        pytest.param([0, 0, 0, 0], 0.5, None, id="none at all"),
    ],
)
def test_quantiles_are_as_near_as_the_bounds(buckets: list[float], share: float, seconds: float | None) -> None:
    found = OperationTime(sum(buckets), {}, buckets).quantile(share, BOUNDS)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_a_span_is_the_difference_of_two_moments() -> None:
    earlier = ServerTimes(5.0, BOUNDS, {"GetObject": OperationTime(3, {"journal": 1.0}, [3, 0, 0, 0])})
    now = ServerTimes(
        7.5,
        BOUNDS,
        {
            "GetObject": OperationTime(5, {"journal": 1.5, "bodies": 2.0}, [3, 2, 0, 0]),
            "PutObject": OperationTime(1, {"other": 1.0}, [0, 0, 1, 0]),
        },
    )
    assert now.since(earlier) == ServerTimes(
        2.5,
        BOUNDS,
        {
            "GetObject": OperationTime(2, {"journal": 0.5, "bodies": 2.0}, [0, 2, 0, 0]),
            "PutObject": OperationTime(1, {"other": 1.0}, [0, 0, 1, 0]),
        },
    )


def test_a_server_that_was_started_anew_counts_from_there() -> None:
    now = ServerTimes(0.5, BOUNDS, {"GetObject": OperationTime(1, {"journal": 0.1}, [1, 0, 0, 0])})
    before = ServerTimes(60.0, BOUNDS, {"GetObject": OperationTime(9, {"journal": 1.0}, [9, 0, 0, 0])})
    assert now.since(before) == now
