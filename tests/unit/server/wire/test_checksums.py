"""Checksums: the values of their standards, what requests may declare, and the composite of parts."""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from time import perf_counter

import pytest
from botocore.httpchecksum import CrtCrc32cChecksum, CrtCrc64NvmeChecksum
from hypothesis import given
from hypothesis import strategies as st

from lochan.server.gateway.wire.checksums import (
    DIGEST_BYTES,
    HASHERS,
    Checksum,
    checked_value,
    content_md5,
    declared_checksum,
    declared_type,
    refuse_other_md5,
)
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.bodies.checksums import COMPOSITE, FULL_OBJECT, composite, full_object, of_parts

CHECK = b"123456789"
CRCS = ("CRC32", "CRC32C", "CRC64NVME")


def value(algorithm: str, data: bytes) -> str:
    hasher = HASHERS[algorithm]()
    hasher.update(data)
    return b64encode(hasher.digest()).decode()


def refused(headers: dict[str, str]) -> str:
    with pytest.raises(S3Error) as caught:
        declared_checksum(headers)
    return caught.value.code


@pytest.mark.parametrize(
    "algorithm, expected",
    [
        ("CRC32", "cbf43926"),
        ("CRC32C", "e3069283"),
        ("CRC64NVME", "ae8b14860a799888"),
        ("SHA1", hashlib.sha1(CHECK).hexdigest()),
        ("SHA256", hashlib.sha256(CHECK).hexdigest()),
    ],
)
def test_the_check_values_of_the_standards(algorithm: str, expected: str) -> None:
    assert b64decode(value(algorithm, CHECK)).hex() == expected
    assert len(bytes.fromhex(expected)) == DIGEST_BYTES[algorithm]


@given(st.binary(max_size=200), st.integers(0, 200), st.sampled_from(CRCS))
def test_a_crc_goes_on_where_it_was_left(data: bytes, cut: int, algorithm: str) -> None:
    hasher = HASHERS[algorithm]()
    hasher.update(data[:cut])
    hasher.update(data[cut:])
    assert b64encode(hasher.digest()).decode() == value(algorithm, data)


def test_they_are_what_botocore_computes() -> None:
    for theirs, algorithm in ((CrtCrc32cChecksum(), "CRC32C"), (CrtCrc64NvmeChecksum(), "CRC64NVME")):
        theirs.update(b"hello")
        assert theirs.b64digest() == value(algorithm, b"hello")


@pytest.mark.parametrize("algorithm", CRCS)
def test_they_keep_up_with_a_network(algorithm: str) -> None:
    data = bytes(16 << 20)
    started = perf_counter()
    value(algorithm, data)
    assert perf_counter() - started < 1  # in plain Python it would take ten


@pytest.mark.parametrize("algorithm", HASHERS)
def test_a_value_in_a_header(algorithm: str) -> None:
    checksum = value(algorithm, b"hello")
    found = declared_checksum(
        {f"x-amz-checksum-{algorithm.lower()}": checksum, "x-amz-sdk-checksum-algorithm": algorithm}
    )
    assert found == Checksum(algorithm, checksum)
    assert found.header == f"x-amz-checksum-{algorithm.lower()}"
    found.check(checksum)
    with pytest.raises(S3Error) as caught:
        found.check(value(algorithm, b"hullo"))
    assert caught.value.code == "BadDigest" and algorithm in caught.value.message


def test_a_value_that_a_trailer_will_tell() -> None:
    headers = {"x-amz-trailer": "x-amz-checksum-CRC32C", "x-amz-sdk-checksum-algorithm": "CRC32C"}
    assert declared_checksum(headers) == Checksum("CRC32C", None, in_trailer=True)


def test_an_algorithm_without_a_value_is_wanted_only() -> None:
    assert declared_checksum({"x-amz-checksum-algorithm": "sha256"}) == Checksum("SHA256", None)
    assert declared_checksum({"x-amz-checksum-mode": "ENABLED"}) is None
    assert declared_checksum({}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-checksum-sha1": value("SHA1", b"")},
        {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-trailer": "x-amz-checksum-crc32"},
        {"x-amz-checksum-crc32": "AAAAAA==", "x-amz-sdk-checksum-algorithm": "SHA1"},
        {"x-amz-checksum-crc32": "AAAA"},
        {"x-amz-checksum-crc32": "AAAAAA"},
        {"x-amz-checksum-crc32": "AAAAAA==\n"},
        {"x-amz-checksum-crc32": "!!!!!!=="},
        {"x-amz-checksum-crc32": ""},
        {"x-amz-checksum-crc32": "é"},
        {"x-amz-checksum-crc32": "AAAAAA==-2"},
        {"x-amz-checksum-md5": "AAAAAA=="},
        {"x-amz-trailer": "x-amz-checksum-md4"},
        {"x-amz-trailer": "x-amz-checksum-crc32,x-amz-checksum-sha1"},
        {"x-amz-sdk-checksum-algorithm": "MD4"},
    ],
)
def test_what_does_not_fit_together(headers: dict[str, str]) -> None:
    assert refused(headers) == "InvalidRequest"


def test_the_checksum_of_an_upload_may_come_with_its_count() -> None:
    assert checked_value("CRC32", "AAAAAA==-2", whole=True) == "AAAAAA==-2"
    assert declared_checksum({"x-amz-checksum-crc32": "AAAAAA==-2"}, whole=True) == Checksum("CRC32", "AAAAAA==-2")


def test_content_md5() -> None:
    digest = hashlib.md5(b"hello").digest()
    assert content_md5({"content-md5": b64encode(digest).decode()}) == digest
    assert content_md5({}) is None
    for text in ("", "x", "AAAA", b64encode(digest).decode()[:-1], digest.hex()):
        with pytest.raises(S3Error) as caught:
            content_md5({"content-md5": text})
        assert caught.value.code == "InvalidDigest"
    refuse_other_md5(None, digest)
    refuse_other_md5(digest, digest)
    with pytest.raises(S3Error) as caught:
        refuse_other_md5(bytes(16), digest)
    assert caught.value.code == "BadDigest"


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=12), st.sampled_from(CRCS))
def test_crcs_of_parts_join_to_that_of_the_whole(parts: Sequence[bytes], algorithm: str) -> None:
    checksums = [(value(algorithm, part), len(part)) for part in parts]
    assert full_object(algorithm, checksums) == value(algorithm, b"".join(parts))
    assert of_parts(algorithm, FULL_OBJECT, checksums) == full_object(algorithm, checksums)


def test_joining_costs_nothing_of_the_length() -> None:
    started = perf_counter()
    for algorithm in CRCS:
        full_object(algorithm, [(b64encode(bytes(DIGEST_BYTES[algorithm])).decode(), 5 << 40)] * 10_000)
    assert perf_counter() - started < 5


@pytest.mark.parametrize("algorithm", HASHERS)
def test_a_composite_is_the_hash_of_the_digests(algorithm: str) -> None:
    digests = [value(algorithm, part) for part in (b"one", b"two", b"three")]
    expected = value(algorithm, b"".join(map(b64decode, digests)))
    assert composite(algorithm, digests) == f"{expected}-3"
    assert of_parts(algorithm, COMPOSITE, [(digest, 3) for digest in digests]) == f"{expected}-3"


@pytest.mark.parametrize(
    "algorithm, given_type, expected",
    [
        (None, None, None),
        ("CRC32", None, COMPOSITE),
        ("CRC32C", FULL_OBJECT, FULL_OBJECT),
        ("CRC32", COMPOSITE, COMPOSITE),
        ("CRC64NVME", None, FULL_OBJECT),
        ("CRC64NVME", COMPOSITE, "InvalidRequest"),
        ("SHA1", None, COMPOSITE),
        ("SHA256", FULL_OBJECT, "InvalidRequest"),
        ("CRC32", "WHOLE", "InvalidRequest"),
    ],
)
def test_which_type_an_upload_has(algorithm: str | None, given_type: str | None, expected: str | None) -> None:
    headers = {} if given_type is None else {"x-amz-checksum-type": given_type}
    try:
        assert declared_type(headers, algorithm) == expected
    except S3Error as error:
        assert error.code == expected
