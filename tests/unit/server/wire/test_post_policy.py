"""Form uploads: botocore's policies are accepted, and every altered, dropped or late condition is refused."""

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import V2_SETTING, Identity, Payload, Realm, SignatureForm
from lochan.server.gateway.wire.post_policy import ANY_LENGTH, LengthRange, post_claimed, post_form
from tests.unit.server.wire.signers import KEY_ID, NOW, REALM, REGION, SECRET, secrets

EXPIRATION = "2026-05-24T11:30:00.000Z"
END = NOW + 3600


def signed_fields(
    form: str = "v4", conditions: list[Any] | None = None, expiration: str = EXPIRATION, key: str = "user/${filename}"
) -> dict[str, str]:
    given = [{"bucket": "bucket"}, ["starts-with", "$key", "user/"], ["starts-with", "$Content-Type", "image/"]]
    request = AWSRequest("POST", "http://h/bucket")
    request.context["s3-presign-post-fields"] = {"key": key, "Content-Type": "image/png"}
    request.context["s3-presign-post-policy"] = {
        "expiration": expiration,
        "conditions": given if conditions is None else conditions,
    }
    credentials = Credentials(KEY_ID, SECRET)
    moment = datetime.fromtimestamp(NOW, UTC).replace(tzinfo=None)
    with patch("botocore.auth.get_current_datetime", lambda: moment):
        signer: Any = (
            auth.S3SigV4PostAuth(credentials, "s3", REGION) if form == "v4" else auth.HmacV1PostAuth(credentials)
        )
        signer.add_auth(request)
    fields: dict[str, str] = request.context["s3-presign-post-fields"]
    return fields


def check(
    fields: dict[str, str], now: float = NOW, bucket: str = "bucket", filename: str = "cat.png", realm: Realm = REALM
) -> tuple[Identity | None, LengthRange]:
    form = post_form(fields.items(), bucket, filename)
    claim = post_claimed(form, realm, now)
    if claim is None:
        return None, ANY_LENGTH
    return claim.verify(secrets(claim.access_key_id)), claim.length


def refused(fields: dict[str, str], now: float = NOW, bucket: str = "bucket", filename: str = "cat.png") -> S3Error:
    with pytest.raises(S3Error) as caught:
        check(fields, now, bucket, filename)
    return caught.value


@pytest.mark.parametrize("form, expected", [("v4", SignatureForm.V4_POST), ("v2", SignatureForm.V2_POST)])
def test_a_form_of_botocore_is_taken_until_it_ends(form: str, expected: SignatureForm) -> None:
    for now in (NOW, END):
        found, length = check(signed_fields(form), now)
        assert found is not None and (found.access_key_id, found.form) == (KEY_ID, expected)
        assert found.payload is Payload.UNSIGNED and length == ANY_LENGTH
    error = refused(signed_fields(form), END + 1)
    assert (error.code, error.status) == ("AccessDenied", 403) and "expired" in error.message


def test_a_form_is_good_for_a_week() -> None:
    week, far = 7 * 24 * 3600, "2030-01-01T00:00:00.000Z"
    assert check(signed_fields("v4", expiration=far), NOW + week)[0] is not None
    assert "good for a week" in refused(signed_fields("v4", expiration=far), NOW + week + 1).message
    assert refused(signed_fields("v4", expiration=far), NOW - 901).code == "AccessDenied"
    assert "more than a week ahead" in refused(signed_fields("v2", expiration=far)).message


def test_a_form_of_version_2_is_refused_unless_a_setting_takes_it() -> None:
    assert check(signed_fields("v4"), realm=Realm(REGION))[0] is not None
    with pytest.raises(S3Error) as caught:
        check(signed_fields("v2"), realm=Realm(REGION))
    assert caught.value.code == "InvalidRequest" and V2_SETTING in caught.value.message


def test_a_form_that_nobody_signed_is_nobodys() -> None:
    assert check({"key": "a"})[0] is None


@pytest.mark.parametrize("form", ["v4", "v2"])
@pytest.mark.parametrize(
    "change, code",
    [
        ({"key": "other/${filename}"}, "AccessDenied"),
        ({"Content-Type": "text/html"}, "AccessDenied"),
        ({"Content-Type": "image/png, text/html"}, "AccessDenied"),
        ({"acl": "public-read"}, "AccessDenied"),
        ({"x-amz-meta-a": "1"}, "AccessDenied"),
        ({"policy": "e30="}, "InvalidPolicyDocument"),
        ({"policy": "%%%"}, "InvalidPolicyDocument"),
        ({"policy": ""}, "InvalidPolicyDocument"),
    ],
)
def test_every_alteration_of_the_fields_is_refused(form: str, change: dict[str, str], code: str) -> None:
    assert refused(signed_fields(form) | change).code == code


@pytest.mark.parametrize("form", ["v4", "v2"])
def test_the_policy_is_what_was_signed(form: str) -> None:
    fields = signed_fields(form)
    wider = signed_fields(
        form, [{"bucket": "bucket"}, ["starts-with", "$key", ""], ["starts-with", "$Content-Type", ""]]
    )
    error = refused(fields | {"policy": wider["policy"]})
    assert error.code == "SignatureDoesNotMatch" and error.fields["StringToSign"] == wider["policy"]


@pytest.mark.parametrize(
    "name, value, code",
    [
        ("x-amz-signature", "0" * 64, "SignatureDoesNotMatch"),
        ("x-amz-signature", "", "InvalidArgument"),
        ("x-amz-algorithm", "aws4-hmac-sha256", "InvalidArgument"),
        ("x-amz-date", "20260525T103000Z", "InvalidArgument"),
        ("x-amz-date", "now", "InvalidArgument"),
        ("x-amz-credential", f"{KEY_ID}/20260524/eu-1/s3/aws4_request", "InvalidArgument"),
        ("x-amz-credential", f"{KEY_ID}X/20260524/us-east-1/s3/aws4_request", "AccessDenied"),
        ("x-amz-credential", "x", "InvalidArgument"),
    ],
)
def test_the_fields_of_the_signature(name: str, value: str, code: str) -> None:
    assert refused(signed_fields() | {name: value}).code == code


def test_a_key_that_does_not_exist() -> None:
    assert refused(signed_fields("v2") | {"AWSAccessKeyId": "nobody"}).code == "InvalidAccessKeyId"
    assert refused(signed_fields("v2") | {"signature": "AAAA"}).code == "SignatureDoesNotMatch"


def test_the_bucket_is_part_of_the_policy() -> None:
    assert refused(signed_fields(), bucket="other").code == "AccessDenied"
    assert refused(signed_fields() | {"bucket": "bucket"}, bucket="other").code == "AccessDenied"
    open_bucket = signed_fields(conditions=[["starts-with", "$key", ""], ["starts-with", "$Content-Type", ""]])
    assert "Extra input fields: bucket" in refused(open_bucket).message


def test_every_condition_is_needed() -> None:
    full = [{"bucket": "bucket"}, ["starts-with", "$key", "user/"], ["eq", "$content-type", "image/png"]]
    assert check(signed_fields(conditions=list(full)))[0] is not None
    for dropped in range(3):
        rest = [condition for at, condition in enumerate(full) if at != dropped]
        assert refused(signed_fields(conditions=rest)).code == "AccessDenied"


@pytest.mark.parametrize(
    "filename, key",
    [
        ("cat.png", "user/cat.png"),
        ("../../etc/passwd", "user/passwd"),
        ("C:\\Users\\me\\cat.png", "user/cat.png"),
        ("..", "user/.."),
        ("${filename}", "user/${filename}"),
        ("", "user/"),
    ],
)
def test_the_name_of_the_file_is_put_in_without_its_folders(filename: str, key: str) -> None:
    assert post_form([("key", "user/${filename}")], "bucket", filename).key == key


def test_conditions_see_the_name_of_the_file() -> None:
    exact = [{"bucket": "bucket"}, {"key": "user/cat.png"}, ["starts-with", "$Content-Type", ""]]
    assert check(signed_fields(conditions=list(exact)))[0] is not None
    assert refused(signed_fields(conditions=list(exact)), filename="dog.png").code == "AccessDenied"


def test_how_long_the_file_may_be() -> None:
    base = [{"bucket": "bucket"}, ["starts-with", "$key", ""], ["starts-with", "$Content-Type", ""]]
    length = check(
        signed_fields(conditions=[*base, ["content-length-range", 2, "10"], ["content-length-range", 1, 8]])
    )[1]
    assert length == (2, 8)
    length.check(2)
    length.check(8)
    for size, code in ((1, "EntityTooSmall"), (9, "EntityTooLarge")):
        with pytest.raises(S3Error) as caught:
            length.check(size)
        assert caught.value.code == code


@pytest.mark.parametrize(
    "condition",
    [
        {"a": "1", "b": "2"}, {}, [], ["eq", "$key"], ["eq", "key", "x"], ["ends-with", "$key", "x"],
        ["content-length-range", -1, 5], ["content-length-range", "a", "b"], ["content-length-range", 1, 10**30],
        "eq", 5, None, {"key": 5}, ["eq", ["$key"], "x"], [1, 2, 3],
    ],
)  # fmt: skip
def test_invalid_conditions(condition: Any) -> None:
    assert refused(signed_fields(conditions=[{"bucket": "bucket"}, condition])).code == "InvalidPolicyDocument"


@pytest.mark.parametrize(
    "policy",
    [
        b"[]", b"{", b"null", b'{"conditions": []}', b'{"expiration": "2026-05-24T11:30:00Z"}',
        b'{"expiration": "tomorrow", "conditions": []}', b'{"expiration": 5, "conditions": []}',
        b'{"expiration":"2026-05-24T11:30:00Z","conditions":' + b"[" * 10_000, b"\xff" * 100, b" " * 30_000,
        b'{"expiration":"2026-05-24T11:30:00Z","conditions":[["content-length-range",1,1e400]]}',
    ],
)  # fmt: skip
def test_invalid_policies(policy: bytes) -> None:
    assert refused(signed_fields() | {"policy": b64encode(policy).decode()}).code == "InvalidPolicyDocument"


def test_fields_count_once_whatever_their_case() -> None:
    for fields, code in (([("key", "a"), ("KEY", "b")], "InvalidArgument"), ([("acl", "x")], "UserKeyMustBeSpecified")):
        with pytest.raises(S3Error) as caught:
            post_form(fields, "bucket", "")
        assert caught.value.code == code


def test_fields_to_ignore_are_ignored() -> None:
    assert check(signed_fields() | {"x-ignore-me": "1"})[0] is not None


def test_a_policy_reads_as_it_was_written() -> None:
    """The documents of AWS's own guide: names in their case, a list and an object for the same thing."""
    conditions = [
        {"bucket": "bucket"},
        ["starts-with", "$KEY", "user/"],
        {"content-TYPE": "image/png"},
        ["starts-with", "$x-amz-meta-tag", ""],
    ]
    fields = signed_fields(conditions=conditions) | {"X-Amz-Meta-Tag": "anything"}
    assert json.loads(b64decode(fields["policy"]))["conditions"][0] == {"bucket": "bucket"}
    assert check(fields)[0] is not None
