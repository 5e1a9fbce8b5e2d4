"""Version 2 in the header: botocore's, and the examples that AWS publishes."""

import pytest

from lochan.config.settings import SETTINGS
from lochan.server.gateway.routes import ROUTES
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import parse_http_date
from lochan.server.gateway.wire.identity import V2_SETTING, Payload, Realm, SignatureForm
from lochan.server.gateway.wire.signature_v2 import SIGNED_PARAMETERS
from lochan.server.gateway.wire.signed_request import SignedRequest
from tests.unit.server.wire.signers import KEY_ID, NOW, REALM, Sent, authenticate, check, secrets, sign


def refused(sent: Sent, now: float = NOW) -> S3Error:
    with pytest.raises(S3Error) as caught:
        check(sent, now)
    return caught.value


def put() -> Sent:
    headers = {
        "Content-Type": "text/csv",
        "Content-MD5": "XUFAKrxLKna5cZ2REBfFkg==",
        "x-amz-meta-b": "2",
        "x-amz-acl": "x",
    }
    return sign("v2 header", "PUT", "/bucket/a%20b/c~.csv", "partNumber=1&uploadId=a%2Fb%3D&prefix=p", headers)


def test_a_request_of_botocore_is_taken() -> None:
    found = check(put())
    assert found is not None
    assert (found.access_key_id, found.form, found.payload, found.seed) == (
        KEY_ID,
        SignatureForm.V2_HEADER,
        Payload.UNSIGNED,
        None,
    )


@pytest.mark.parametrize(
    "tampered",
    [
        put().having(method="GET"),
        put().having(path="/bucket/a%20b/d"),
        put().having(path="/other/a%20b/c~.csv"),
        put().having(query="partNumber=2&uploadId=a%2Fb%3D&prefix=p"),
        put().having(query="partNumber=1&uploadId=a%2Fb&prefix=p"),
        put().having(query="partNumber=1&uploadId=a%2Fb%3D&acl"),
        put().having(query="partNumber=1&uploadId=a%2Fb%3D&response-content-type=x"),
        put().having(query="partNumber=1"),
        put().having(bucket="other"),
        put().with_header("Content-Type", "text/html"),
        put().with_header("Content-MD5", None),
        put().with_header("x-amz-meta-b", "3"),
        put().with_header("x-amz-meta-b", None),
        put().adding("x-amz-meta-c", "3"),
        put().with_header("Date", "Sun, 24 May 2026 10:30:01 GMT"),
        put().adding("x-amz-date", "Sun, 24 May 2026 10:30:00 GMT"),
    ],
)
def test_every_alteration_is_refused(tampered: Sent) -> None:
    assert refused(tampered).code == "SignatureDoesNotMatch"
    assert refused(tampered).fields["StringToSign"].startswith(tampered.method)


@pytest.mark.parametrize(
    "authorization, code",
    [
        ("AWS", "InvalidArgument"),
        ("AWS nocolon", "InvalidArgument"),
        ("AWS :sig", "InvalidArgument"),
        (f"AWS {KEY_ID}:", "InvalidArgument"),
        (f"AWS {KEY_ID}X:abc", "InvalidAccessKeyId"),
        (f"AWS {KEY_ID}:abc", "SignatureDoesNotMatch"),
        (f"aws {KEY_ID}:abc", "InvalidArgument"),
    ],
)
def test_invalid_signatures(authorization: str, code: str) -> None:
    assert refused(put().with_header("Authorization", authorization)).code == code


@pytest.mark.parametrize("off", [-901, 901])
def test_clocks_may_not_differ_by_more_than_a_quarter_of_an_hour(off: int) -> None:
    assert check(put(), NOW + off // 901 * 900) is not None
    assert refused(put(), NOW + off).code == "RequestTimeTooSkewed"


def test_a_date_is_needed() -> None:
    assert refused(put().with_header("Date", None)).code == "AccessDenied"
    assert refused(put().with_header("Date", "soon")).code == "AccessDenied"


def test_the_path_may_come_decoded_as_a_server_hands_it_on() -> None:
    sent = put()
    request = SignedRequest.of_decoded_path(sent.method, "/bucket/a b/c~.csv", sent.query, sent.headers)
    assert authenticate(request, REALM, secrets, NOW) is not None


def test_a_bucket_in_the_host_is_signed_in_front_of_the_path() -> None:
    sent = sign("v2 header", path="/a.csv", auth_path="/bucket/a.csv")
    assert check(sent.having(bucket="bucket")) is not None
    assert refused(sent).code == "SignatureDoesNotMatch"


def test_a_bucket_alone_may_be_signed_with_the_slash_that_was_not_sent() -> None:
    assert check(sign("v2 header", path="/bucket", query="prefix=a", auth_path="/bucket/")) is not None
    assert refused(sign("v2 header", path="/bucket/key", auth_path="/bucket/key/")).code == "SignatureDoesNotMatch"


def test_an_empty_value_is_signed_with_its_sign_or_without() -> None:
    assert check(sign("v2 header", "POST", query="uploads").having(query="uploads=")) is not None
    assert check(sign("v2 header", "POST", query="uploads=")) is not None
    # But a sign that is part of a value is part of it.
    assert refused(sign("v2 header", query="uploadId=a").having(query="uploadId=a=")).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    "name", ["%64elete", "delet%65", "%75ploads", "uploadI%64=x", "attributes", "response-expires=x"]
)
def test_an_encoded_name_is_the_name_that_is_carried_out(name: str) -> None:
    """What is routed by its decoded name is signed by it: otherwise any signed POST could be made into a deletion."""
    assert refused(sign("v2 header", "POST", path="/bucket").having(query=name)).code == "SignatureDoesNotMatch"
    assert refused(sign("v2 query", "POST", path="/bucket").adding_query(name)).code == "SignatureDoesNotMatch"


def test_an_encoded_name_is_signed_as_the_name_that_it_is() -> None:
    assert check(sign("v2 header", "POST", query="uploads").having(query="%75ploads")) is not None


def test_all_that_makes_another_operation_is_signed() -> None:
    marks = {mark.partition("+")[0] for routes in ROUTES.values() for mark in routes}
    unsigned = {"", "list-type"}  # the same list, by the same right, in another form
    assert marks - unsigned <= SIGNED_PARAMETERS


def test_two_parameters_are_not_signed_as_one() -> None:
    """The text that is signed holds decoded values, in which an ampersand would look like another parameter."""
    sent = sign("v2 header", "PUT", query="partNumber=1&uploadId=a")
    assert refused(sent.having(query="partNumber=1%26uploadId%3Da")).code == "AccessDenied"
    assert refused(sent.having(query="partNumber=1%0AuploadId%3Da")).code == "AccessDenied"


@pytest.mark.parametrize("form", ["v2 header", "v2 query"])
def test_it_is_refused_unless_a_setting_takes_it(form: str) -> None:
    with pytest.raises(S3Error) as caught:
        check(sign(form), realm=Realm("us-east-1"))
    assert (caught.value.code, caught.value.status) == ("InvalidRequest", 400)
    assert "Please use AWS4-HMAC-SHA256" in caught.value.message and V2_SETTING in caught.value.message
    assert V2_SETTING in {setting.key for setting in SETTINGS}


def test_what_botocore_signs_of_a_query_is_signed_here() -> None:
    from botocore.auth import HmacV1Auth

    assert set(HmacV1Auth.QSAOfInterest) <= SIGNED_PARAMETERS


ID, KEY = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    "method, path, query, bucket, headers, signature",
    [
        pytest.param(
            "GET", "/photos/puppy.jpg", "", "awsexamplebucket1",
            {"date": "Tue, 27 Mar 2007 19:36:42 +0000"}, "qgk2+6Sv9/oM7G3qLEjTH1a1l1g=", id="GET object",
        ),
        pytest.param(
            "PUT", "/photos/puppy.jpg", "", "awsexamplebucket1",
            {"content-type": "image/jpeg", "content-length": "94328", "date": "Tue, 27 Mar 2007 21:15:45 +0000"},
            "iqRzw+ileNPu1fhspnRs8nOjjIA=", id="PUT object",
        ),
        pytest.param(
            "GET", "/", "prefix=photos&max-keys=50&marker=puppy", "awsexamplebucket1",
            {"user-agent": "Mozilla/5.0", "date": "Tue, 27 Mar 2007 19:42:41 +0000"},
            "m0WP8eCtspQl5Ahe6L1SozdX9YA=", id="list",
        ),
        pytest.param(
            "GET", "/", "acl", "awsexamplebucket1",
            {"date": "Tue, 27 Mar 2007 19:44:46 +0000"}, "82ZHiFIjc+WbcwFKGUVEQspPn+0=", id="fetch acl",
        ),
        pytest.param(
            "GET", "/", "", None,
            {"date": "Wed, 28 Mar 2007 01:29:59 +0000"}, "qGdzdERIC03wnaRNKh6OqZehG9s=", id="list all buckets",
        ),
    ],
)  # fmt: skip
def test_the_examples_that_aws_publishes(
    method: str, path: str, query: str, bucket: str | None, headers: dict[str, str], signature: str
) -> None:
    now = parse_http_date(headers["date"])
    assert now is not None
    pairs = (*headers.items(), ("authorization", f"AWS {ID}:{signature}"))
    request = SignedRequest(method, path, query, pairs, bucket)
    assert authenticate(request, REALM, {ID: KEY}.get, now) is not None


def test_a_framed_body_is_noticed_without_a_word_in_the_signature() -> None:
    framed = {"content-encoding": "gzip, aws-chunked", "x-amz-decoded-content-length": "5"}
    found = check(sign("v2 header", "PUT", headers=framed))
    assert found is not None and found.payload is Payload.UNSIGNED_CHUNKS_TRAILER
    signed = {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}
    assert refused(sign("v2 header", "PUT", headers=signed)).code == "InvalidRequest"
