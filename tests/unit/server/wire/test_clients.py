"""Requests of unmodified clients are understood: their signatures, framings, checksums, links and forms."""

import io
import socket
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from hashlib import md5
from typing import Any

import boto3
import pytest
from botocore.config import Config

from lochan.server.gateway.wire.identity import Payload, SignatureForm
from lochan.server.gateway.wire.xml_in import parse_delete
from tests.unit.server.wire.listener import Listener, listening
from tests.unit.server.wire.signers import KEY_ID, REGION, SECRET

KEY = "main/a b+c~é&=%/../x//(1)!'*"
BODY = b"hello, lake\n" * 5000


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    with listening(tmp_path_factory.mktemp("plain"), domains=("localhost",)) as listener:
        yield listener


@pytest.fixture(autouse=True)
def names_of_buckets_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every machine knows that `repo.localhost` is itself."""
    known = socket.getaddrinfo

    def found(host: Any, *rest: Any, **named: Any) -> Any:
        return known("localhost" if str(host).endswith(".localhost") else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    with listening(tmp_path_factory.mktemp("tls"), tls=True) as listener:
        yield listener


def client(listener: Listener, version: str = "s3v4", style: str = "path", secret: str = SECRET, **s3: Any) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=listener.address,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=secret,
        region_name=REGION,
        verify=str(listener.certificate) if listener.certificate else None,
        config=Config(signature_version=version, s3={"addressing_style": style, **s3}, retries={"max_attempts": 0}),
    )


@pytest.mark.parametrize("version, form", [("s3v4", SignatureForm.V4_HEADER), ("s3", SignatureForm.V2_HEADER)])
@pytest.mark.parametrize("style", ["path", "virtual"])
def test_the_signatures_of_boto3(plain: Listener, version: str, form: SignatureForm, style: str) -> None:
    s3 = client(plain, version, style)
    s3.put_object(Bucket="repo", Key=KEY, Body=BODY, Metadata={"team": "search  me"}, ContentType="text/plain")
    seen = plain.seen[-1]
    assert (seen.bucket, seen.key, seen.body) == ("repo", KEY, BODY)
    assert seen.identity is not None and seen.identity.form is form
    s3.head_object(Bucket="repo", Key=KEY)
    s3.get_object(Bucket="repo", Key=KEY, ResponseContentType="a/b; c=d", Range="bytes=0-5")
    s3.delete_object(Bucket="repo", Key=KEY)
    s3.upload_part(Bucket="repo", Key=KEY, UploadId="u/+ =", PartNumber=3, Body=b"part")
    assert [(one.method, one.key) for one in plain.seen[-4:]] == [
        (method, KEY) for method in ("HEAD", "GET", "DELETE", "PUT")
    ]


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_its_checksums_in_headers_and_trailers(plain: Listener, secure: Listener, algorithm: str) -> None:
    for listener, payload in ((plain, Payload.HASHED), (secure, Payload.UNSIGNED_CHUNKS_TRAILER)):
        body = io.BytesIO(BODY)
        client(listener).put_object(Bucket="repo", Key="k", Body=body, ChecksumAlgorithm=algorithm)
        seen = listener.seen[-1]
        assert (seen.body, seen.checksum) == (BODY, algorithm)
        assert seen.identity is not None and seen.identity.payload is payload
        assert bool(seen.trailers) is payload.is_chunked


def test_a_body_without_a_signature_of_its_own(secure: Listener) -> None:
    s3 = client(secure, payload_signing_enabled=False)
    s3.upload_part(Bucket="repo", Key="k", UploadId="u", PartNumber=1, Body=BODY, ContentMD5=_md5(BODY))
    seen = secure.seen[-1]
    assert seen.body == BODY
    assert seen.identity is not None and seen.identity.payload in (Payload.UNSIGNED, Payload.UNSIGNED_CHUNKS_TRAILER)
    s3.delete_objects(Bucket="repo", Delete={"Objects": [{"Key": "a&b"}]})
    assert parse_delete(secure.seen[-1].body).objects[0].key == "a&b"


@pytest.mark.parametrize("version, form", [("s3v4", SignatureForm.V4_QUERY), ("s3", SignatureForm.V2_QUERY)])
@pytest.mark.parametrize("style", ["path", "virtual"])
def test_its_links(plain: Listener, version: str, form: SignatureForm, style: str) -> None:
    s3 = client(plain, version, style)
    asked = {"Bucket": "repo", "Key": KEY}
    link = s3.generate_presigned_url("get_object", asked | {"ResponseContentType": "text/plain; a"}, ExpiresIn=60)
    assert _fetch(link) == 200
    assert plain.seen[-1].key == KEY and plain.seen[-1].identity is not None and plain.seen[-1].identity.form is form
    assert _fetch(link, method="DELETE") == 403
    assert _fetch(link.replace("main/", "dev/")) == 403
    upload = s3.generate_presigned_url("put_object", asked, ExpiresIn=60)
    assert _fetch(upload, method="PUT", body=BODY) == (200 if version == "s3v4" else 403)  # V2 signs the content type
    typed = s3.generate_presigned_url("put_object", asked | {"ContentType": "text/csv"}, ExpiresIn=60)
    assert _fetch(typed, method="PUT", body=BODY) == 200


@pytest.mark.parametrize("version, form", [("s3v4", SignatureForm.V4_POST), ("s3", SignatureForm.V2_POST)])
def test_its_forms(plain: Listener, version: str, form: SignatureForm) -> None:
    conditions = [["content-length-range", 1, 100], ["starts-with", "$key", "user/"]]
    post = client(plain, version).generate_presigned_post("repo", "user/${filename}", Conditions=conditions)
    assert _post(post, b"meow") == 200
    seen = plain.seen[-1]
    assert (seen.bucket, seen.key, seen.body) == ("repo", "user/cat.png", b"meow")
    assert seen.identity is not None and seen.identity.form is form
    assert _post(post, b"m" * 101) == 400
    assert _post(post | {"fields": post["fields"] | {"acl": "public-read"}}, b"meow") == 403


def test_a_wrong_secret(plain: Listener) -> None:
    for version in ("s3v4", "s3"):
        s3 = client(plain, version, secret="wrong")
        with pytest.raises(s3.exceptions.ClientError) as caught:
            s3.get_object(Bucket="repo", Key=KEY)
        assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"


def test_obstore(plain: Listener) -> None:
    import obstore
    from obstore.store import S3Store

    store = S3Store(
        "repo",
        endpoint=plain.address,
        access_key_id=KEY_ID,
        secret_access_key=SECRET,
        region=REGION,
        client_options={"allow_http": True},
    )
    obstore.put(store, "main/a b+c~é&=(1)!'*", BODY, use_multipart=False)
    assert (plain.seen[-1].key, plain.seen[-1].body) == ("main/a b+c~é&=(1)!'*", BODY)


def _md5(data: bytes) -> str:
    return b64encode(md5(data).digest()).decode()


def _fetch(url: str, method: str = "GET", body: bytes | None = None, content_type: str = "text/csv") -> int:
    headers = {"Content-Type": content_type} if body else {}
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as answer:
        with answer:
            return int(answer.code)


def _post(post: dict[str, Any], body: bytes) -> int:
    parts = [
        f'--b0\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in post["fields"].items()
    ]
    parts.append('--b0\r\nContent-Disposition: form-data; name="file"; filename="C:\\pets\\cat.png"\r\n\r\n')
    data = "".join(parts).encode() + body + b"\r\n--b0--\r\n"
    return _fetch(post["url"], "POST", data, "multipart/form-data; boundary=b0")
