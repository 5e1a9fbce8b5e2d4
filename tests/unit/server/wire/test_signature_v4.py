"""Version 4 in the header: botocore's signatures and AWS's own examples are accepted, and nothing altered."""

import re
from collections.abc import Callable
from time import perf_counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Payload, Realm, SignatureForm
from lochan.server.gateway.wire.presigned import is_v2, is_v4
from lochan.server.gateway.wire.signed_request import SignedRequest, canonical_part
from tests.unit.server.wire.signers import KEY_ID, NOW, REALM, SECRET, Sent, authenticate, check, secrets, sign

MINUTE = 60


def code(sent: Sent, now: float = NOW, realm: Realm = REALM) -> str:
    with pytest.raises(S3Error) as caught:
        check(sent, now, realm)
    return caught.value.code


def put() -> Sent:
    headers = {"Content-Type": "text/csv", "x-amz-meta-team": "search", "Content-MD5": "XUFAKrxLKna5cZ2REBfFkg=="}
    return sign("v4 header", "PUT", "/bucket/main/a.csv", "partNumber=1&uploadId=u", headers, b"hello")


def resigned(sent: Sent, change: Callable[[str], str]) -> Sent:
    return sent.with_header("Authorization", change(sent.header("Authorization")))


def test_a_request_of_botocore_is_taken() -> None:
    found = check(put())
    assert found is not None
    assert (found.access_key_id, found.form, found.payload) == (KEY_ID, SignatureForm.V4_HEADER, Payload.HASHED)
    assert found.sha256 == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert found.region == "us-east-1" and found.seed is not None
    assert SECRET not in repr(found) and repr(found.seed.signing_key) not in repr(found)


def test_no_signature_is_nobody() -> None:
    assert check(Sent("GET", "/bucket/", "prefix=a", (("host", "h"),))) is None


@pytest.mark.parametrize(
    "headers, path, query, method, signature",
    [
        pytest.param(
            {
                "range": "bytes=0-9",
                "x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            },
            "/test.txt",
            "",
            "GET",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            id="GET object",
        ),
        pytest.param(
            {
                "date": "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class": "REDUCED_REDUNDANCY",
                "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
            },
            "/test%24file.text",
            "",
            "PUT",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
            id="PUT object",
        ),
        pytest.param(
            {"x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
            "/",
            "lifecycle",
            "GET",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            id="GET lifecycle: a name without a value",
        ),
        pytest.param(
            {"x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
            "/",
            "max-keys=2&prefix=J",
            "GET",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            id="list objects",
        ),
    ],
)
def test_the_examples_that_aws_publishes(
    headers: dict[str, str], path: str, query: str, method: str, signature: str
) -> None:
    headers = headers | {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={KEY_ID}/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders={';'.join(sorted(headers))},Signature={signature}"
    )
    sent = Sent(method, path, query, (*headers.items(), ("Authorization", authorization)))
    assert check(sent, now=1369353600) is not None
    assert code(sent.having(method="DELETE"), now=1369353600) == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    "tampered, expected",
    [
        (put().having(method="DELETE"), "SignatureDoesNotMatch"),
        (put().having(path="/bucket/main/b.csv"), "SignatureDoesNotMatch"),
        (put().having(path="/bucket//main/a.csv"), "SignatureDoesNotMatch"),
        (put().having(path="/bucket/x/../main/a.csv"), "SignatureDoesNotMatch"),
        (put().having(path="/bucket/main/a%252Ecsv"), "SignatureDoesNotMatch"),
        (put().having(query="partNumber=2&uploadId=u"), "SignatureDoesNotMatch"),
        (put().having(query="partNumber=1&partNumber=1&uploadId=u"), "SignatureDoesNotMatch"),
        (put().having(query="partNumber=1&uploadId=u&acl"), "SignatureDoesNotMatch"),
        (put().having(query="partNumber=1"), "SignatureDoesNotMatch"),
        (put().with_header("Host", "elsewhere.example"), "SignatureDoesNotMatch"),
        (put().with_header("Content-Type", "text/html"), "SignatureDoesNotMatch"),
        (put().with_header("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="), "SignatureDoesNotMatch"),
        (put().with_header("x-amz-meta-team", "other"), "SignatureDoesNotMatch"),
        (put().with_header("x-amz-meta-team", None), "SignatureDoesNotMatch"),
        (put().adding("x-amz-meta-team", "second"), "SignatureDoesNotMatch"),
        (put().with_header("x-amz-content-sha256", "0" * 64), "SignatureDoesNotMatch"),
        (put().with_header("x-amz-content-sha256", "UNSIGNED-PAYLOAD"), "SignatureDoesNotMatch"),
        (put().with_header("X-Amz-Date", "20260524T103001Z"), "SignatureDoesNotMatch"),
        (put().adding("x-amz-copy-source", "/other/key"), "AccessDenied"),
        (put().adding("x-amz-acl", "public-read"), "AccessDenied"),
        (put().with_header("x-amz-content-sha256", None), "InvalidRequest"),
        (put().with_header("x-amz-content-sha256", "abc"), "InvalidArgument"),
        (put().with_header("x-amz-content-sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"), "NotImplemented"),
        (put().with_header("X-Amz-Date", None), "AccessDenied"),
        (put().with_header("X-Amz-Date", "yesterday"), "AccessDenied"),
        (put().adding("X-Amz-Date", "20260524T103000Z"), "AccessDenied"),
        (put().with_header("X-Amz-Date", "20260523T103000Z"), "AuthorizationHeaderMalformed"),
        (put().adding("Authorization", put().header("Authorization")), "AuthorizationHeaderMalformed"),
        (put().having(query="partNumber=1&uploadId=u&X-Amz-Algorithm=AWS4-HMAC-SHA256"), "InvalidArgument"),
        (put().having(query="partNumber=1&uploadId=u&AWSAccessKeyId=a&Signature=b&Expires=1"), "InvalidArgument"),
        (resigned(put(), lambda text: text.replace("host;", "")), "AccessDenied"),
        (resigned(put(), lambda text: text.replace("host;", "host;host;")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace("host;", "Host;")), "AccessDenied"),
        (resigned(put(), lambda text: text.replace(";x-amz-meta-team", "")), "AccessDenied"),
        (resigned(put(), lambda text: text.replace("AWS4-HMAC", "aws4-hmac")), "InvalidArgument"),
        (resigned(put(), lambda text: text.replace("AWS4-HMAC-SHA256", "Basic")), "InvalidArgument"),
        (resigned(put(), lambda text: text.replace("us-east-1", "eu-west-1")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace("/s3/", "/ec2/")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace("aws4_request", "aws4_reques")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace("20260524", "20260525")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace(KEY_ID, KEY_ID[:-1])), "InvalidAccessKeyId"),
        (resigned(put(), lambda text: text.replace(KEY_ID, KEY_ID + "A")), "InvalidAccessKeyId"),
        (resigned(put(), lambda text: text.replace(KEY_ID + "/", "")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.replace("Credential=", "Credentials=")), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: re.sub("Signature=.*", "Signature=", text)), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text.partition(", Signature")[0]), "AuthorizationHeaderMalformed"),
        (resigned(put(), lambda text: text + "0"), "SignatureDoesNotMatch"),
        (resigned(put(), lambda text: text[:-1]), "SignatureDoesNotMatch"),
        (resigned(put(), lambda text: text[:-64] + text[-64:].upper()), "SignatureDoesNotMatch"),
        (resigned(put(), lambda text: text[:-1] + "é"), "SignatureDoesNotMatch"),
        (resigned(put(), lambda text: "AWS4-HMAC-SHA256 "), "AuthorizationHeaderMalformed"),
    ],
)
def test_every_alteration_is_refused(tampered: Sent, expected: str) -> None:
    assert check(put()) is not None
    assert code(tampered) == expected


def test_a_wrong_secret_gets_the_error_of_aws() -> None:
    with pytest.raises(S3Error) as caught:
        authenticate(put().request(), REALM, lambda id: "another secret", NOW)
    fields = caught.value.fields
    assert caught.value.status == 403
    assert fields["AWSAccessKeyId"] == KEY_ID
    assert fields["StringToSign"].startswith("AWS4-HMAC-SHA256\n20260524T103000Z\n20260524/us-east-1/s3/aws4_request\n")
    assert fields["CanonicalRequest"].startswith("PUT\n/bucket/main/a.csv\npartNumber=1&uploadId=u\n")
    assert bytes.fromhex(fields["CanonicalRequestBytes"]).decode() == fields["CanonicalRequest"]
    assert bytes.fromhex(fields["StringToSignBytes"]).decode() == fields["StringToSign"]


def test_the_secret_of_nobody_opens_nothing() -> None:
    from lochan.server.gateway.wire.identity import NOBODY

    forged = put()
    with pytest.raises(S3Error) as caught:
        authenticate(forged.request(), REALM, lambda id: None, NOW)
    assert caught.value.code == "InvalidAccessKeyId"
    signed_by_nobody = re.sub("Signature=.*", "Signature=" + _signature(forged, NOBODY), forged.header("Authorization"))
    forged = forged.with_header("Authorization", signed_by_nobody)
    assert authenticate(forged.request(), REALM, lambda id: NOBODY, NOW) is not None  # it is well signed
    with pytest.raises(S3Error) as caught:
        authenticate(forged.request(), REALM, lambda id: None, NOW)
    assert caught.value.code == "InvalidAccessKeyId"


def _signature(sent: Sent, secret: str) -> str:
    """Computed from the string that a refusal contains."""
    from lochan.server.gateway.wire import signature_v4 as signing_key

    with pytest.raises(S3Error) as caught:
        authenticate(sent.request(), REALM, lambda id: "wrong", NOW)
    key = signing_key.signing_key(secret, "20260524", "us-east-1", "s3")
    return signing_key.sign(key, caught.value.fields["StringToSign"].encode())


@pytest.mark.parametrize("off", [-15 * MINUTE, 0, 15 * MINUTE])
def test_clocks_may_differ_by_a_quarter_of_an_hour(off: int) -> None:
    assert check(put(), now=NOW + off) is not None


@pytest.mark.parametrize("off", [-15 * MINUTE - 1, 15 * MINUTE + 1, 86_400, -86_400])
def test_and_not_by_more(off: int) -> None:
    assert code(put(), now=NOW + off) == "RequestTimeTooSkewed"


def test_any_region_is_taken_where_none_is_configured() -> None:
    assert check(put(), realm=Realm(None)) is not None
    assert (
        code(resigned(put(), lambda text: text.replace("us-east-1", "eu-1")), realm=Realm(None))
        == "SignatureDoesNotMatch"
    )


def test_the_date_header_stands_in_for_x_amz_date() -> None:
    sent = sign("v4 header").with_header("X-Amz-Date", None)
    assert code(sent) == "AccessDenied"
    sent = resigned(sent, lambda text: text.replace("x-amz-date", "date"))
    dated = sent.adding("Date", "Sun, 24 May 2026 10:30:00 GMT")
    assert code(dated) == "SignatureDoesNotMatch"
    assert check(resigned(dated, lambda text: text[:-64] + _signature(dated, SECRET))) is not None


@pytest.mark.parametrize(
    "signed_path, sent_path",
    [
        ("/b/a~b", "/b/a%7Eb"),
        ("/b/a%20b", "/b/a%20b"),
        ("/b/a%3Db%21", "/b/a=b!"),
        ("/b/caf%C3%A9", "/b/caf%c3%a9"),
        ("/b/a%2Bb", "/b/a+b"),
        ("/b/a/b", "/b/a%2Fb"),
        ("/b/..//./x", "/b/..//./x"),
        ("/b/(x)'*!", "/b/(x)'*!"),  # signed as it was sent, without AWS's encoding
    ],
)
def test_a_path_may_be_encoded_in_another_way(signed_path: str, sent_path: str) -> None:
    assert check(sign("v4 header", path=signed_path).having(path=sent_path)) is not None


@pytest.mark.parametrize(
    "signed_query, sent_query",
    [
        ("prefix=a%20b", "prefix=a+b"),
        ("prefix=a~", "prefix=a%7E"),
        ("b=2&a=1", "a=1&b=2"),
        ("a=2&a=1", "a=1&a=2"),
        ("uploads=", "uploads"),
        ("uploads", "uploads="),
        ("prefix=a%2Fb&x=%C3%A9", "x=%c3%a9&prefix=a/b"),
        ("a=b=c", "a=b=c"),
    ],
)
def test_a_query_may_be_encoded_in_another_way(signed_query: str, sent_query: str) -> None:
    assert check(sign("v4 header", query=signed_query).having(query=sent_query)) is not None


def test_a_plus_in_a_query_is_a_space() -> None:
    assert canonical_part("a+b") == "a%20b" and canonical_part("a%2Bb") == "a%2Bb"
    assert code(sign("v4 header", query="prefix=a%2Bb").having(query="prefix=a%20b")) == "SignatureDoesNotMatch"


def test_spaces_within_a_header_count_once() -> None:
    sent = sign("v4 header", headers={"x-amz-meta-a": "one  two"})
    assert check(sent.with_header("X-AMZ-Meta-A", "   one    two ")) is not None
    assert code(sent.with_header("x-amz-meta-a", "onetwo")) == "SignatureDoesNotMatch"


@given(
    path=st.text(st.characters(codec="utf-8"), max_size=40),
    values=st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
    ),
)
def test_whatever_a_key_and_a_query_hold(path: str, values: list[tuple[str, str]]) -> None:
    from urllib.parse import quote

    names = {name for name, _ in values}
    assume(not is_v4(names) and not is_v2(names))  # a second signature
    query = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in values)
    sent = sign("v4 header", path="/b/" + quote(path, safe="/~"), query=query)
    assert check(sent) is not None
    decoded = SignedRequest.of_decoded_path(sent.method, "/b/" + path, sent.query, sent.headers)
    assert authenticate(decoded, REALM, secrets, NOW) is not None


def test_a_long_list_of_headers_costs_no_more_than_its_length() -> None:
    names = ";".join(f"x{number}" for number in range(20_000))
    sent = resigned(put(), lambda text: text.replace("host;", f"host;{names};"))
    started = perf_counter()
    assert code(sent) == "SignatureDoesNotMatch"
    assert perf_counter() - started < 2
