"""What a V4 credential must name here: the region, the service and how it ends."""

from dataclasses import dataclass
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error


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
