"""What a signature must be here: which versions are taken, what a V4 credential must name, and how far a client's clock
may be from ours."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from lochan.server.gateway.wire.dates import iso_basic, iso_millis, parse_iso_basic
from lochan.server.gateway.wire.errors import S3Error

V2_SETTING: Final = "gateways.s3.signature_v2"
SKEW_SECONDS_MAX = 15 * 60


class Credential(NamedTuple):
    access_key_id: str
    day: str
    region: str
    service: str
    terminal: str

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/{self.terminal}"


@dataclass(frozen=True, slots=True)
class Realm:
    """`region` None takes any: clients that know of no region send one of their own."""

    region: str | None = None
    service: str = "s3"
    takes_v2: bool = False

    def refuse_v2(self) -> None:
        """Raises InvalidRequest, in the words by which old clients know that they are to sign by version 4."""
        if not self.takes_v2:
            raise S3Error(
                "InvalidRequest",
                "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256. "
                f"Version 2 signatures are turned off on this server; the setting {V2_SETTING} turns them on.",
            )

    def credential(self, text: str, timestamp: str, code: str, prefix: str) -> Credential:
        """Raises an error of this code. `timestamp` is the request's, whose day must be the credential's."""
        parts = text.rsplit("/", 4)  # an access key may hold slashes, what follows it may not
        if len(parts) != 5 or not parts[0]:
            raise S3Error(
                code,
                f'{prefix}the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".',
            )
        found = Credential(*parts)
        if fault := self._fault(found, timestamp):
            fields = {"Region": self.region} if self.region else {}
            raise S3Error(code, f"{prefix}{fault}", **fields)
        return found

    def _fault(self, found: Credential, timestamp: str) -> str:
        if found.terminal != "aws4_request":
            return f'incorrect terminal "{found.terminal}". This endpoint uses "aws4_request".'
        if found.service != self.service:
            return f'incorrect service "{found.service}". This endpoint belongs to "{self.service}".'
        if not found.region or (self.region is not None and found.region != self.region):
            return f"the region '{found.region}' is wrong; expecting '{self.region or 'the name of a region'}'"
        if found.day != timestamp[:8]:
            return f'Invalid credential date "{found.day}". This date is not the same as X-Amz-Date: "{timestamp[:8]}".'
        return ""


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
