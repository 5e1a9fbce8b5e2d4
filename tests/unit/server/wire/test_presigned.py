"""Links work for as long as they say, only for what they were made for, and not a second longer."""

from collections.abc import Callable

import pytest

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.identity import Payload, SignatureForm
from tests.unit.server.wire.signers import KEY_ID, NOW, Sent, check, sign

HOUR = 3600
WEEK = 7 * 24 * HOUR


def refused(sent: Sent, now: float = NOW) -> S3Error:
    with pytest.raises(S3Error) as caught:
        check(sent, now)
    return caught.value


def link(method: str = "GET", expires: int = HOUR, query: str = "", headers: dict[str, str] | None = None) -> Sent:
    return sign("v4 query", method, query=query, expires=expires, headers=headers)


def old_link(method: str = "GET", expires: int = HOUR, query: str = "", headers: dict[str, str] | None = None) -> Sent:
    return sign("v2 query", method, query=query, expires=expires, headers=headers)


@pytest.mark.parametrize("expires", [1, HOUR, WEEK])
@pytest.mark.parametrize("make", [link, old_link], ids=["V4", "V2"])
def test_a_link_works_for_its_whole_life(make: Callable[..., Sent], expires: int) -> None:
    sent = make("GET", expires)
    for age in (0, expires // 2, expires):
        found = check(sent, NOW + age)
        assert found is not None and found.access_key_id == KEY_ID and found.payload is Payload.UNSIGNED
    late = refused(sent, NOW + expires + 1)
    assert (late.code, late.message, late.status) == ("AccessDenied", "Request has expired", 403)
    assert late.fields["Expires"] and late.fields["ServerTime"]


def test_an_old_link_ends_within_a_week() -> None:
    """With what clocks may differ by: the week is counted from when the link was made, which only its maker knows."""
    assert check(old_link(expires=WEEK + 900)) is not None
    error = refused(old_link(expires=WEEK + 901))
    assert error.code == "AccessDenied" and "less than a week" in error.message


@pytest.mark.parametrize("name", ["prefix=other", "list-type=2", "max-keys=5", "%70refix=other"])
def test_an_old_link_has_nothing_that_it_does_not_sign(name: str) -> None:
    for sent in (old_link().adding_query(name), old_link(query=name)):
        error = refused(sent)
        assert error.code == "AccessDenied" and error.fields["ParametersNotSigned"]


@pytest.mark.parametrize("make", [link, old_link], ids=["V4", "V2"])
def test_the_parameters_of_a_signature_are_known_by_their_decoded_names(make: Callable[..., Sent]) -> None:
    """One that is encoded must neither be overlooked nor count beside the other."""
    sent = make()
    encoded = sent.query.replace("Signature=", "%53ignature=")
    assert encoded != sent.query and check(sent.having(query=encoded)) is not None
    assert refused(sent.adding_query("%45xpires=1&X-Amz-%45xpires=1")).code == "AuthorizationQueryParametersError"


def test_the_forms_are_told_apart() -> None:
    assert [found and found.form for found in (check(link()), check(old_link()))] == [
        SignatureForm.V4_QUERY,
        SignatureForm.V2_QUERY,
    ]


def test_a_link_may_be_from_a_clock_that_is_ahead_by_a_quarter_of_an_hour() -> None:
    assert check(link(), NOW - 900) is not None
    assert refused(link(), NOW - 901).message == "Request is not yet valid"


@pytest.mark.parametrize("expires", ["0", "000", "-1", "604801", "1e3", "", "+5", " 5", "٣", "9" * 5000])
def test_how_long_it_lives_must_be_a_number_within_a_week(expires: str) -> None:
    query = link().query.replace("X-Amz-Expires=3600", f"X-Amz-Expires={expires}")
    error = refused(link().having(query=query))
    assert (error.code, error.status) == ("AuthorizationQueryParametersError", 400)


@pytest.mark.parametrize("expires", ["", "-1", "1e9", "soon", "9" * 5000, "2026-01-01"])
def test_when_an_old_link_ends_must_be_a_time(expires: str) -> None:
    query = old_link().query.replace(f"Expires={NOW + HOUR}", f"Expires={expires}")
    assert refused(old_link().having(query=query)).code == "AccessDenied"


@pytest.mark.parametrize("make", [link, old_link], ids=["V4", "V2"])
@pytest.mark.parametrize(
    "change",
    [
        lambda sent: sent.having(method="PUT"),
        lambda sent: sent.having(method="HEAD"),
        lambda sent: sent.having(path="/bucket/main/b.csv"),
        lambda sent: sent.having(query=sent.query + "&uploadId=1"),
        lambda sent: sent.having(query=sent.query + "&response-content-type=text%2Fhtml"),
        lambda sent: sent.having(
            query=sent.query.replace("3600", "7200").replace(str(NOW + HOUR), str(NOW + 2 * HOUR))
        ),
        lambda sent: sent.adding("x-amz-copy-source", "/other/key"),
        lambda sent: sent.adding("x-amz-acl", "public-read"),
    ],
    ids=["method", "head", "key", "upload", "response header", "a longer life", "copy source", "acl"],
)
def test_a_link_is_for_what_it_was_made_for(make: Callable[..., Sent], change: Callable[[Sent], Sent]) -> None:
    sent = make()
    assert check(sent) is not None
    assert refused(change(sent)).status == 403


@pytest.mark.parametrize("name", ["Algorithm", "Credential", "Signature", "Date", "SignedHeaders", "Expires"])
def test_each_parameter_is_needed_and_counts_once(name: str) -> None:
    sent = link()
    pairs = sent.query.split("&")
    without = "&".join(pair for pair in pairs if not pair.startswith(f"X-Amz-{name}="))
    error = refused(sent.having(query=without))
    assert error.code == "AuthorizationQueryParametersError"
    twice = sent.having(query=f"{sent.query}&X-Amz-{name}=x")
    assert refused(twice).code == "AuthorizationQueryParametersError"


@pytest.mark.parametrize("name", ["AWSAccessKeyId", "Expires", "Signature"])
def test_so_is_each_of_version_2(name: str) -> None:
    sent = old_link()
    without = "&".join(pair for pair in sent.query.split("&") if not pair.startswith(f"{name}="))
    assert refused(sent.having(query=without)).code == "AccessDenied"
    assert refused(sent.having(query=f"{sent.query}&{name}=x")).status == 400


def test_signed_headers_must_come_as_they_were_signed() -> None:
    sent = link("PUT", headers={"content-type": "text/csv", "x-amz-meta-a": "1"})
    assert check(sent) is not None
    assert refused(sent.with_header("content-type", "text/html")).code == "SignatureDoesNotMatch"
    assert refused(sent.with_header("x-amz-meta-a", None)).code == "SignatureDoesNotMatch"


def test_a_content_type_that_was_not_signed_may_come() -> None:
    assert check(link("PUT").adding("content-type", "text/csv")) is not None


def test_a_link_names_the_wrong_region_or_algorithm() -> None:
    sent = link()
    other = sent.having(query=sent.query.replace("us-east-1", "eu-1"))
    assert refused(other).code == "AuthorizationQueryParametersError" and refused(other).fields["Region"] == "us-east-1"
    lower = sent.having(query=sent.query.replace("AWS4-HMAC-SHA256", "aws4-hmac-sha256"))
    assert refused(lower).code == "AuthorizationQueryParametersError"


def test_the_example_that_aws_publishes() -> None:
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2F"
        "aws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&"
        "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )
    sent = Sent("GET", "/test.txt", query, (("host", "examplebucket.s3.amazonaws.com"),))
    assert check(sent, 1369353600 + 86400) is not None
    assert refused(sent, 1369353600 + 86401).message == "Request has expired"


def test_a_session_token_is_handed_on() -> None:
    for form in ("v4 header", "v4 query", "v2 header"):
        found = check(sign(form, token="a+token/="))
        assert found is not None and found.session_token == "a+token/=", form
        assert "a+token" not in repr(found)
    # botocore moves the token of version 2 from the headers to the query.
    sent = sign("v2 query", token="a+token/=").with_header("x-amz-security-token", None)
    found = check(sent)
    assert found is not None and found.session_token == "a+token/="


def test_signed_chunks_have_nothing_to_begin_from_in_a_link() -> None:
    sent = sign("v4 query", "PUT", headers={"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"})
    assert refused(sent).code == "InvalidRequest"
