"""The files and modules of docs/operations/hooks.md are what they say."""

import re

import yaml

from docs.tour import ROOT
from lochan.hooks.hook_file import EVENTS, parse_hook_file
from lochan.hooks.templates import TEMPLATES

PAGE = (ROOT / "docs" / "operations" / "hooks.md").read_text()


def test_the_file_is_a_hook_file() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    assert yaml.safe_load(text)["name"] == parse_hook_file(text.encode(), "quality.yaml").name


def test_every_event_and_template_is_told() -> None:
    for name in {event.partition("-")[2] for event in EVENTS} | set(TEMPLATES):
        assert f"`{name}`" in PAGE or f"template: {name}`" in PAGE, name


def test_the_module_works() -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, object] = {}
    exec(text, names)
    check = names["check"]
    assert callable(check)
    assert check({"branch": "main"}) == "not on a Friday" and check({"branch": "dev"}) is None
