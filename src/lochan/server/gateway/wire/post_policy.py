"""Judges an upload by a form in a browser: the policy that somebody signed, and whether the form keeps to it.

Every field must be named by a condition, except those that carry the signature and the file. `${filename}` is replaced
before the conditions are judged, so that they see the key that will be written.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

import msgspec

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import parse_iso_basic, parse_iso_extended
from lochan.server.gateway.wire.identity import NOBODY, SKEW_SECONDS_MAX, Identity, Payload, Realm, SignatureForm
from lochan.server.gateway.wire.signature_v2 import sign_v2
from lochan.server.gateway.wire.signature_v4 import ALGORITHM, same, sign, signing_key

POLICY_BYTES_MAX: Final = 20 * 1024

_FREE = frozenset(("policy", "x-amz-signature", "signature", "awsaccesskeyid", "file"))
_WEEK_S = 7 * 24 * 3600
_SLASH = re.compile(r"[/\\]")


class PostForm(NamedTuple):
    """A form without its file. `fields` are by their names in lower case, with `${filename}` replaced."""

    fields: Mapping[str, str]
    bucket: str

    @property
    def key(self) -> str:
        return self.fields["key"]


class LengthRange(NamedTuple):
    least: int
    most: int

    def check(self, size: int) -> None:
        """Raises EntityTooSmall or EntityTooLarge. `most` can be checked while the file is still arriving."""
        if size < self.least:
            raise S3Error("EntityTooSmall", ProposedSize=str(size), MinSizeAllowed=str(self.least))
        if size > self.most:
            raise S3Error("EntityTooLarge", ProposedSize=str(size), MaxSizeAllowed=str(self.most))


ANY_LENGTH: Final = LengthRange(0, 5 * 1024**3)  # the largest body of one request


class _Policy(msgspec.Struct):
    expiration: str
    conditions: list[dict[str, str] | list[str | int]]


def post_form(fields: Iterable[tuple[str, str]], bucket: str, filename: str) -> PostForm:
    """Returns the form. Raises InvalidArgument for a field that comes twice, and UserKeyMustBeSpecified if the key is
    missing."""
    found: dict[str, str] = {}
    for name, value in fields:
        name = name.lower()
        if name in found:
            raise S3Error("InvalidArgument", "A form cannot have two fields of the same name.", ArgumentName=name[:256])
        found[name] = value
    if not found.get("key"):
        raise S3Error("UserKeyMustBeSpecified")
    # Some browsers send the whole path of the file.
    base = _SLASH.split(filename)[-1]
    free = ("policy", "signature", "x-amz-signature")
    expanded = {name: value if name in free else value.replace("${filename}", base) for name, value in found.items()}
    return PostForm(expanded, bucket)


class PostClaim:
    """A claim like that of a request, made by the fields of a form. Raises an error if it is malformed or expired."""

    def __init__(self, form: PostForm, realm: Realm, now: float) -> None:
        self._fields = form.fields
        self._policy = form.fields.get("policy", "")
        self.session_token = form.fields.get("x-amz-security-token")
        self._is_v4 = "x-amz-algorithm" in form.fields or "x-amz-signature" in form.fields
        if self._is_v4:
            self._read_v4(realm, now)
        else:
            realm.refuse_v2()
            self._signature, self.access_key_id = (
                _require_field(form.fields, "signature"),
                _require_field(form.fields, "awsaccesskeyid"),
            )
        # Version 2 has no date of its own, so only the end of the policy can be limited.
        self.length = conforming(form, self._policy, now, inf if self._is_v4 else now + _WEEK_S + SKEW_SECONDS_MAX)

    def verify(self, secret: str | None) -> Identity:
        if not same(self._computed(NOBODY if secret is None else secret), self._signature) or secret is None:
            raise self._refusal(known=secret is not None)
        form, region = (SignatureForm.V4_POST, self._scope[1]) if self._is_v4 else (SignatureForm.V2_POST, None)
        return Identity(self.access_key_id, form, Payload.UNSIGNED, None, region, self.session_token)

    def _read_v4(self, realm: Realm, now: float) -> None:
        fields = self._fields
        if _require_field(fields, "x-amz-algorithm") != ALGORITHM:
            raise S3Error("InvalidArgument", f"x-amz-algorithm must be {ALGORITHM}", ArgumentName="x-amz-algorithm")
        date = _require_field(fields, "x-amz-date")
        signed_at = parse_iso_basic(date)
        if signed_at is None:
            raise S3Error("InvalidArgument", "x-amz-date is not a date", ArgumentName="x-amz-date")
        text = _require_field(fields, "x-amz-credential")
        credential = realm.credential(text, date, "InvalidArgument", "Error parsing the x-amz-credential field; ")
        if not -SKEW_SECONDS_MAX <= now - signed_at <= _WEEK_S:
            raise S3Error("AccessDenied", "A form is good for a week from its x-amz-date, and this one has expired.")
        self._signature = _require_field(fields, "x-amz-signature")
        self._scope = (credential.day, credential.region, credential.service)
        self.access_key_id = credential.access_key_id

    def _computed(self, secret: str) -> str:
        policy = self._policy.encode()
        return sign(signing_key(secret, *self._scope), policy) if self._is_v4 else sign_v2(secret, policy)

    def _refusal(self, known: bool) -> S3Error:
        unknown = S3Error("InvalidAccessKeyId", AWSAccessKeyId=self.access_key_id)
        fields = {"StringToSign": self._policy, "SignatureProvided": self._signature}
        mismatch = S3Error("SignatureDoesNotMatch", AWSAccessKeyId=self.access_key_id, **fields)
        return mismatch if known else unknown


def post_claimed(form: PostForm, realm: Realm, now: float) -> PostClaim | None:
    """Returns the claim, or None if nobody signed the form."""
    signed = {"policy", "signature", "x-amz-signature", "x-amz-credential", "awsaccesskeyid"}
    return PostClaim(form, realm, now) if signed & form.fields.keys() else None


def conforming(form: PostForm, policy: str, now: float, end_max: float = inf) -> LengthRange:
    """Returns how long the file may be. Raises AccessDenied if the form is not what the policy allows, if it is too
    late, or if the policy ends after `end_max`."""
    decoded = _decode(policy)
    end = parse_iso_extended(decoded.expiration)
    if end is None:
        raise _invalid(f"Invalid 'expiration' value: '{decoded.expiration[:64]}'")
    if now > end:
        raise S3Error("AccessDenied", "Invalid according to Policy: Policy expired.")
    if end > end_max:
        raise S3Error("AccessDenied", "Invalid according to Policy: its expiration is more than a week ahead.")
    values = {**form.fields, "bucket": form.bucket}
    length, named = ANY_LENGTH, set()
    for condition in decoded.conditions:
        kind, name, value = _condition(condition)
        if kind == "content-length-range":
            length = LengthRange(max(length.least, int(name)), min(length.most, int(value)))
        else:
            named.add(name)
            _refuse_unmet(kind, name, value, values.get(name))
    # The bucket counts as a field, because a policy that leaves it open could be used for any bucket.
    extra = [name for name in values if name not in named | _FREE and not name.startswith("x-ignore-")]
    if extra:
        raise S3Error("AccessDenied", f"Invalid according to Policy: Extra input fields: {', '.join(extra)[:512]}")
    return length


def _decode(policy: str) -> _Policy:
    if not policy or len(policy) > POLICY_BYTES_MAX * 4 // 3:
        raise _invalid("there is none, or it is too long")
    try:
        return msgspec.json.decode(b64decode(policy, validate=True), type=_Policy)
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise _invalid("it is not base64 of JSON with an expiration and conditions") from None


def _condition(condition: dict[str, str] | list[str | int]) -> tuple[str, str, str]:
    """Returns its kind, the name in lower case without `$`, and the value. For a range of lengths it returns the two
    numbers."""
    if isinstance(condition, dict):
        if len(condition) != 1:
            raise _invalid("a condition has not exactly one field")
        ((name, value),) = condition.items()
        return "eq", name.lower(), value
    kind = str(condition[0]).lower() if len(condition) == 3 else ""
    name, value = (str(part) for part in condition[1:]) if kind else ("", "")
    if kind == "content-length-range" and all(_is_number(part) for part in (name, value)):
        return kind, name, value
    if kind in ("eq", "starts-with") and name.startswith("$"):
        return kind, name[1:].lower(), value
    raise _invalid(f"a condition is not understood: {str(condition)[:256]}")


def _refuse_unmet(kind: str, name: str, value: str, given: str | None) -> None:
    if kind == "eq":
        met = given == value
    elif name == "content-type" and given is not None:
        met = all(part.strip().startswith(value) for part in given.split(","))
    else:
        met = (given or "").startswith(value)
    if not met:
        shown = msgspec.json.encode([kind, f"${name}", value]).decode()
        raise S3Error("AccessDenied", f"Invalid according to Policy: Policy Condition failed: {shown[:512]}")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def _require_field(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if not value:
        message = f"Bucket POST must contain a field named '{name}', in front of the file."
        raise S3Error("InvalidArgument", message, ArgumentName=name)
    return value


def _invalid(what: str) -> S3Error:
    return S3Error("InvalidPolicyDocument", f"Invalid Policy: {what}")
