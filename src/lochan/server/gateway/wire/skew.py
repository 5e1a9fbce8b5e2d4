"""How far a client's clock may be from ours."""

from lochan.server.gateway.wire.dates import iso_basic, iso_millis, parse_iso_basic
from lochan.server.gateway.wire.errors import S3Error

SKEW_SECONDS_MAX = 15 * 60


def refuse_skewed(timestamp: str, now: float) -> None:
    """`timestamp` in ISO 8601's basic form. Either way: an old request may be a replay."""
    seconds = parse_iso_basic(timestamp)
    if seconds is None or abs(now - seconds) > SKEW_SECONDS_MAX:
        raise S3Error(
            "RequestTimeTooSkewed",
            RequestTime=timestamp,
            ServerTime=iso_millis(int(now * 1_000_000)),
            MaxAllowedSkewMilliseconds=str(SKEW_SECONDS_MAX * 1000),
        )


def refuse_skewed_seconds(seconds: int, now: float) -> None:
    refuse_skewed(iso_basic(seconds), now)
