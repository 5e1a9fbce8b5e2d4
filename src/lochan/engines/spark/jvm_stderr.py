"""What a JVM has to say goes to our stderr, which it inherits: it is kept back, and told only where something fails."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_MAX = 300  # characters of it that are told


@contextmanager
def stderr_kept() -> Iterator[IO[bytes]]:
    """The descriptor itself has to point elsewhere for a while."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)


def why(error: Exception, said: IO[bytes]) -> str:
    """The error's first line, and the one line that tells most of what was said."""
    lines = [line.strip() for line in words(said).splitlines() if line.strip()]
    telling = next((line for line in lines if "rror" in line or "xception" in line), lines[-1] if lines else "")
    first = str(error).strip().partition("\n")[0]
    return f"{first}{f' ({telling})' if telling else ''}"[:_MAX]


def words(said: IO[bytes]) -> str:
    """All of them."""
    said.seek(0)
    return said.read().decode(errors="replace")
