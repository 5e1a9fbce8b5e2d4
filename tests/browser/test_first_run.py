"""The first run: the link that the server prints, the administrator, and what to try."""

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import TIMEOUT_MS
from tests.servers.first_start import environment, serving, token_in
from tests.servers.lochan import LOCHAN, free_ports


def test_the_link_leads_to_a_lake_that_can_be_used(browser: Browser, tmp_path: Path) -> None:
    subprocess.run([LOCHAN, "init", str(tmp_path / "lake")], env=environment(), check=True, capture_output=True)
    s3, api = (f"127.0.0.1:{port}" for port in free_ports(2))
    with serving(tmp_path / "lake", s3, api) as output:
        context = browser.new_context(base_url=f"http://{api}")
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto("/")
        expect(page.get_by_role("status")).to_contain_text("This lake has no user yet")
        page.goto("/setup#wrong")
        page.get_by_role("button", name="Make the administrator").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        page.goto("/")
        page.goto(f"/setup#{token_in(output)}")
        page.get_by_label("Name").fill("ada")
        page.get_by_role("button", name="Make the administrator").click()
        expect(page.get_by_text("the only time that the secret is shown")).to_be_visible()
        assert "#" not in page.url
        page.get_by_role("button", name="I have kept them").click()
        expect(page.get_by_text("This lake is empty, as far as you may see. Three things to try")).to_be_visible()
        for program in ("boto3", "AWS CLI", "Spark", "DuckDB", "curl"):
            page.get_by_role("tab", name=program).click()
            expect(page.get_by_role("tabpanel")).to_contain_text(api)
        page.goto(f"/setup#{token_in(output)}")
        page.get_by_role("button", name="Make the administrator").click()
        expect(page.get_by_role("alert")).to_contain_text("set up already")
        context.close()
