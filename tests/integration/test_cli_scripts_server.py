"""The golden scripts of the command line again, on lakes behind a server: the output must be the same."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.golden.play import USER, lochan, play
from tests.golden.script import parse, render
from tests.servers.lochan import lochan_server

LOCAL_ONLY = "Local only: "
# What is not played through a server, and why.
NOT_SERVED = {
    "usage": "a server notes reads now and then, not after each",
    "auth_groups": "without one, somebody is the last with the policy Admin; a server has an administrator",
    "pull": "without a server nobody can be somebody else, and reviews are refused",
}
# Lines that are others through a server, and why. All the rest must be the same.
OTHERWISE = {
    # it has an administrator, and the user of the scripts has a key, a policy and an address
    "auth": r"  (Admin|admin|ann|NAME) .*",
    "events": r" +\d+\.0  .*|  \{\"number\": .*",
    "upkeep": r" +\d+\.0  .*",
    # it writes into a folder that is older than the last event
    "fs": r' +"address": .*',
}
# Those that show every shape of an answer; the others are played in the long form.
QUICK = ("branch", "commit", "diff", "load", "merge", "same_key_twice", "shell", "workspace")
SCRIPTS = sorted((Path(__file__).parents[1] / "golden" / "cli").glob("*.txt"))


def _cases() -> Iterator[Any]:
    for file in SCRIPTS:
        if not file.read_text().startswith(LOCAL_ONLY) and file.stem not in NOT_SERVED:
            yield pytest.param(file, id=file.stem, marks=[] if file.stem in QUICK else pytest.mark.full)


@pytest.mark.parametrize("file", list(_cases()))
def test_script(file: Path, tmp_path: Path) -> None:
    expected = file.read_text()
    lake = tmp_path.resolve() / ".lochan"
    with ExitStack() as stack:

        def served() -> Mapping[str, str]:
            server = stack.enter_context(lochan_server(lake, init=False))
            key = _key_of(USER)
            return {
                "LOCHAN_LAKE": f"http://{server.api}",
                "LOCHAN_REMOTE__ACCESS_KEY_ID": key["access_key_id"],
                "LOCHAN_REMOTE__SECRET_ACCESS_KEY": key["secret_access_key"],
            }

        played = render(play(parse(expected), tmp_path, f"file://{lake}", {}, made=served))
    assert _alike(played, file.stem) == _alike(expected, file.stem)


def _alike(text: str, script: str) -> list[str]:
    """Without the lines that may be others."""
    pattern = OTHERWISE.get(script)
    return [each for each in text.splitlines() if pattern is None or not re.fullmatch(pattern, each)]


def _key_of(user: str) -> dict[str, str]:
    """Of a user who may do everything."""
    for words in ["users", "create", user], ["attach", user, "Admin"]:
        _, stderr, code = lochan(["auth", *words])
        assert code == 0, stderr
    key: dict[str, str] = json.loads(lochan(["auth", "keys", "create", user, "-f", "json"])[0])
    return key
