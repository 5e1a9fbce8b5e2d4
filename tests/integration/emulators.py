"""What the tests of a store that is not S3 need of the server behind it."""

from typing import Protocol


class Emulator(Protocol):
    @property
    def options(self) -> dict[str, str]:
        """For `open_store`."""

    @property
    def settings(self) -> dict[str, str]:
        """For `--set` of the command line."""

    def url(self, name: str) -> str:
        """Of a bucket or container, which is made if it is not there."""
