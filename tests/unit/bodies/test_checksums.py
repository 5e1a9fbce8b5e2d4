"""Declared checksums against values that others computed."""

from base64 import b64encode

import pytest

from lochan.errors import BadDigest, Invalid
from lochan.versioning.bodies.checksums import ALGORITHMS, DeclaredChecksums

CHECK = b"123456789"  # of which the catalogues of checksums tell the values
MD5 = "25f9e794323b453885f5181f1b624d0b"
KNOWN = {
    "CRC32": b64encode(bytes.fromhex("cbf43926")).decode(),
    "CRC32C": b64encode(bytes.fromhex("e3069283")).decode(),
    "CRC64NVME": b64encode(bytes.fromhex("ae8b14860a799888")).decode(),
    "SHA1": b64encode(bytes.fromhex("f7c3bc1d808e04732adf679965ccc34ca7ae3441")).decode(),
    "SHA256": b64encode(bytes.fromhex("15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225")).decode(),
    "SHA512": b64encode(
        bytes.fromhex(
            "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274a"
            "d27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85"
        )
    ).decode(),
    "MD5": b64encode(bytes.fromhex(MD5)).decode(),
    "XXHASH64": b64encode(bytes.fromhex("8cb841db40e6ae83")).decode(),
    "XXHASH3": b64encode(bytes.fromhex("72dcb18b67a17dff")).decode(),
    "XXHASH128": b64encode(bytes.fromhex("33119477ede5dcd5e9716427681d5860")).decode(),
}


def test_every_algorithm_has_a_known_value() -> None:
    assert set(KNOWN) == set(ALGORITHMS)


@pytest.mark.parametrize("name", KNOWN)
def test_as_declared(name: str) -> None:
    assert _verified(DeclaredChecksums(MD5, {name: KNOWN[name]})) == {name: KNOWN[name]}


@pytest.mark.parametrize("name", KNOWN)
def test_not_as_declared(name: str) -> None:
    with pytest.raises(BadDigest, match=rf"'a/b': the body's {name} is .*, but AAAA was declared"):
        _verified(DeclaredChecksums(None, {name: "AAAA"}))


def test_another_md5() -> None:
    with pytest.raises(BadDigest, match=f"MD5 is {MD5}, but {'0' * 32} was declared"):
        _verified(DeclaredChecksums("0" * 32, {}))


def test_a_value_that_is_only_wanted() -> None:
    declared = DeclaredChecksums(None, {"CRC32": None, "SHA1": None})
    assert _verified(declared) == {name: KNOWN[name] for name in ("CRC32", "SHA1")}


def test_what_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(Invalid, match=r"CRC16 is not known .choose from CRC32, CRC32C, CRC64NVME, SHA1, SHA256"):
        DeclaredChecksums(None, {"CRC16": "AAAA"})


@pytest.mark.parametrize("md5", ["", MD5[:-1], MD5.upper(), "JfnnlDI7RTiF9RgfG2JNCw=="])
def test_an_md5_that_is_none(md5: str) -> None:
    with pytest.raises(BadDigest, match="is not an MD5"):
        DeclaredChecksums(md5, {})


def _verified(declared: DeclaredChecksums) -> dict[str, str]:
    hashers = declared.hashers()
    for hasher in hashers.values():
        hasher.update(CHECK[:4])
        hasher.update(CHECK[4:])
    return declared.verified("a/b", MD5, hashers)
