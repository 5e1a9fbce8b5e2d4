"""The security page names things that exist, and its defaults are those of the code."""

import re
from pathlib import Path

from lochan.access.policy import ACTIONS
from lochan.config.settings import OTHER_VARIABLES, SETTINGS
from lochan.server.api.routes import OPEN, ROUTES
from lochan.server.settings import ClientLimits

FOLDER = Path(__file__).parents[2] / "docs" / "operations"
TEXT = (FOLDER / "security.md").read_text(encoding="utf-8")
KEYS = {setting.key: setting for setting in SETTINGS}
SECTIONS = {key.partition(".")[0] for key in KEYS if "." in key}
SPANS = re.findall(r"`([^`\n]+)`", TEXT)


def test_every_setting_on_the_page_exists() -> None:
    named = {span for span in SPANS if re.fullmatch(r"[a-z_0-9]+(\.[a-z_0-9]+)+", span)}
    settings = {span for span in named if span.partition(".")[0] in SECTIONS}
    assert len(settings) >= 15, "the page names settings"
    assert settings <= KEYS.keys(), settings - KEYS.keys()
    assert {span for span in SPANS if span.startswith("LOCHAN_")} <= set(OTHER_VARIABLES)


def test_every_setting_of_the_listeners_is_on_the_page() -> None:
    expected = {key for key in KEYS if key.startswith(("server.", "tls.", "auth.encrypt.")) or key.endswith("listen")}
    assert expected <= set(SPANS), expected - set(SPANS)


def test_the_limits_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(server\.\w+|gateways\.s3\.idle_s)` \| ([^|]+) \|$", TEXT, re.MULTILINE)
    assert len(rows) == 7
    for key, told in rows:
        default = KEYS[key].default_text
        number = re.match(r"[0-9]+", default)
        assert number is not None and told.split()[0] == number[0], key
    limits = [KEYS[key].default_text for key, _ in rows if key.startswith("server.")]
    assert [float(each.removesuffix("kB")) for each in limits] == [
        ClientLimits().connections,
        ClientLimits().anonymous,
        ClientLimits().anonymous_per_address,
        ClientLimits().requests,
        ClientLimits().authentication_s,
        ClientLimits().body_bytes_per_s / 1_000,
    ]


def test_what_is_open_to_everybody_is_told() -> None:
    assert {row.path for row in ROUTES if row.action == OPEN} <= set(SPANS)
    assert {span for span in SPANS if re.fullmatch(r"(fs|auth|lake):\w+", span)} <= ACTIONS.keys()


def test_its_links_lead_somewhere() -> None:
    for page in FOLDER.glob("*.md"):
        for file, anchor in re.findall(r"\]\(([a-z-]*\.md|)#([^)]+)\)", page.read_text(encoding="utf-8")):
            target = FOLDER / file if file else page
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
            assert anchor in slugs, (page.name, file, anchor)


def test_the_pages_beside_it_lead_here() -> None:
    for name in (
        "access",
        "configuration",
        "queries",
        "server",
        "spark",
        "stores",
        "loading",
        "postgres",
        "workspaces",
    ):
        assert "security.md" in (FOLDER / f"{name}.md").read_text(encoding="utf-8"), name
