"""The journal over a real S3 server: with the fast path, as it is used there, and with trimming, which otherwise takes
a day.
"""

from itertools import count

import pytest

from lochan.store.open import open_store
from lochan.store.protocol import Store
from tests.journal_place import ObjectPlace, Place
from tests.journal_suite import JournalSuite, TrimSuite
from tests.servers.minio import MinioServer

_prefixes = count()


class _OnMinio:
    @pytest.fixture(autouse=True)
    def server(self, minio_server: MinioServer) -> None:
        self.minio = minio_server

    def store(self) -> Store:
        return open_store(f"s3://{self.minio.bucket('journals')}/{next(_prefixes)}", self.minio.options)


class TestMinio(_OnMinio, JournalSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=True)


class TestMinioTrimmed(_OnMinio, TrimSuite):
    def place(self) -> Place:
        return ObjectPlace(self.store(), aged=False)
