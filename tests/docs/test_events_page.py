"""docs/operations/events.md says what is so: types that are events, and a check that knows a signature."""

import re
import time

from docs.tour import ROOT
from lochan.config.settings import SubscriptionsSettings
from lochan.formats.events import event_types
from lochan.hooks.webhook import signature
from lochan.versioning.state.subscriptions import OF_LAKE_MAX, OF_USER_MAX

PAGE = (ROOT / "docs" / "operations" / "events.md").read_text()


def test_the_check_knows_a_signature() -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, object] = {}
    exec(text, names)
    is_genuine, now = names["is_genuine"], int(time.time())
    assert callable(is_genuine)
    for at, secret, fine in ((now, "a", True), (now, "b", False), (now - 3_600, "a", False)):
        headers = {"X-Lochan-Time": str(at), "X-Lochan-Signature": signature("a", at, b"body")}
        assert is_genuine(headers, b"body", secret) is fine
        assert not is_genuine(headers, b"bodY", secret)


def test_its_numbers_and_types() -> None:
    assert {"committed", "moved", "pull-opened"} <= set(event_types())
    standard = SubscriptionsSettings()
    assert f"`subscriptions.attempts` ({standard.attempts}," in PAGE
    assert f"`subscriptions.turn_s` ({standard.turn_s:g} seconds)" in PAGE
    assert f"`subscriptions.retry_s` ({standard.retry_s:g} second)" in PAGE
    assert f"at most {OF_USER_MAX}\nsubscriptions, and a lake {OF_LAKE_MAX}" in PAGE
