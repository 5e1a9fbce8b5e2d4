"""Neither the time of a refusal nor a comparison reveals which keys exist, or how much of a signature is right."""

import ast
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, variance
from time import thread_time_ns

import pytest

import lochan.access
import lochan.server.gateway
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.signature_v4 import Signed
from tests.unit.server.wire.signers import KEY_ID, NOW, REALM, Sent, authenticate, sign

FORMS = ("v4 header", "v4 query", "v2 header", "v2 query")
TRIES = 3_000
LIMIT = 4.5  # of Welch's t: beyond it the two are told apart for certain
ROUNDS = 4  # a machine that is busy may differ once, and not four times


def nanoseconds(sent: Sent, secret: str | None) -> int:
    request, refused = sent.request(), False
    begun = thread_time_ns()
    try:
        authenticate(request, REALM, lambda id: secret, NOW)
    except S3Error:
        refused = True
    took = thread_time_ns() - begun
    assert refused
    return took


def difference(form: str, random: Random) -> float:
    """Welch's t between refusals of a key that is known, with a wrong signature, and of one that is not."""
    sent = sign(form, "PUT", "/bucket/main/a.csv", "partNumber=1&uploadId=u", {"x-amz-meta-team": "s"}, b"hello")
    times: dict[str | None, list[int]] = {"another secret": [], None: []}
    order = [*times] * TRIES
    random.shuffle(order)
    for secret in order:
        times[secret].append(nanoseconds(sent, secret))
    known, unknown = (sorted(each)[: TRIES * 9 // 10] for each in times.values())  # interrupts say nothing
    return (fmean(known) - fmean(unknown)) / sqrt((variance(known) + variance(unknown)) / len(known))


def told_apart(form: str) -> list[float]:
    """Whether every round tells them apart, and by how much."""
    found = []
    for seed in range(ROUNDS):
        found.append(difference(form, Random(seed)))
        if abs(found[-1]) < LIMIT:
            return []
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_key_takes_as_long_as_a_wrong_signature(form: str) -> None:
    assert told_apart(form) == []


@pytest.mark.thorough
def test_a_key_that_is_looked_for_first_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    careful = Signed.check

    def hasty(self: Signed, request: object, secret: str | None, without: str = "") -> bytes:
        if secret is None:
            raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=KEY_ID)
        return careful(self, request, secret, without)  # type: ignore[arg-type]

    monkeypatch.setattr(Signed, "check", hasty)
    assert told_apart("v4 header")


def compared(tree: ast.AST) -> list[str]:
    """Comparisons by `==` of what must not leak: they stop at the first letter that differs."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(each, ast.Eq | ast.NotEq) for each in node.ops):
            sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
            if any(word in side for side in sides for word in _KEPT) and not any(map(_is_public, sides)):
                found.append(ast.unparse(node))
    return found


_KEPT = ("signature", "secret", "hmac")


def _is_public(side: str) -> bool:
    """A constant, or whether there is one at all."""
    return side[0] in "'\"0123456789" or side.isupper() or side.startswith("bool(")


@pytest.mark.thorough
def test_secrets_and_signatures_are_compared_in_constant_time() -> None:
    assert compared(ast.parse("if self._signature == computed: pass")), "else this would see nothing"
    for package in (lochan.access, lochan.server.gateway):
        for file in Path(package.__path__[0]).rglob("*.py"):
            assert compared(ast.parse(file.read_text())) == [], file
