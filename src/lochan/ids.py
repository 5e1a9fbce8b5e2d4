"""Ids and random numbers. Nothing else in Lochan uses randomness, so a seed replays a simulated run."""

import os
from collections.abc import Callable

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_KSUID_EPOCH_S = 1_400_000_000  # 2014-05-13, the epoch of the KSUID format; on disk, never changes
_KSUID_LENGTH = 27
_SECRET_LENGTH = 40  # 238 bits
_KEY_TIME_DIGITS = 16  # microseconds; enough until the year 2286, and sorts as text until then


class Ids:
    """Makes ids from a source of random bytes: the system's, or a simulator's."""

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy

    def ksuid(self, wall: int) -> str:
        """Returns a time-sortable id of 27 letters and digits; `wall` is in microseconds."""
        stamp = max(0, min(wall // 1_000_000 - _KSUID_EPOCH_S, 0xFFFF_FFFF))
        return _base62(int.from_bytes(stamp.to_bytes(4, "big") + self._entropy(16), "big"))

    def put_id(self) -> bytes:
        """Returns sixteen bytes that no other put will ever carry."""
        return self._entropy(16)

    def signing_key(self) -> bytes:
        """Returns thirty-two bytes that nobody can guess."""
        return self._entropy(32)

    def nonce(self) -> bytes:
        """Returns twelve bytes, for one encryption."""
        return self._entropy(12)

    def access_key_id(self) -> str:
        """Returns twenty upper-case letters and digits."""
        from base64 import b32encode  # few commands make one

        return "LKIA" + b32encode(self._entropy(10)).decode()

    def access_key_secret(self) -> str:
        """Returns forty letters and digits that nobody can guess."""
        return _base62(int.from_bytes(self._entropy(30), "big"), _SECRET_LENGTH)

    def idempotency_key(self, wall: int) -> str:
        """Returns a key that begins with the time at which it was made (rule J8). Keys are evicted by that time."""
        return f"{wall:0{_KEY_TIME_DIGITS}d}-{self._entropy(8).hex()}"

    def fraction(self) -> float:
        """A number in [0, 1), for jitter."""
        return int.from_bytes(self._entropy(6), "big") / (1 << 48)


def key_time(key: str) -> int | None:
    """Returns the time at which an idempotency key of ours was made, in microseconds, or None for a foreign key."""
    if key[_KEY_TIME_DIGITS : _KEY_TIME_DIGITS + 1] != "-":  # nearly all foreign keys
        return None
    digits, dash, rest = key.partition("-")
    if len(digits) == _KEY_TIME_DIGITS and digits.isascii() and digits.isdigit() and dash and rest:
        return int(digits)
    return None


def _base62(number: int, length: int = _KSUID_LENGTH) -> str:
    letters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        letters.append(_ALPHABET[digit])
    return "".join(reversed(letters))
