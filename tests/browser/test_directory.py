"""People sign in on the page with the name and password of a directory."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.integration.ldap.people import settings_of
from tests.servers.lochan import lochan_server
from tests.servers.slapd import PEOPLE, READER_PASSWORD, slapd


def test_sign_in_with_a_name_and_a_password(browser: Browser, tmp_path: Path) -> None:
    with slapd() as directory:
        directory.add_user("ada", "the password of ada")
        with lochan_server(tmp_path / "lake", env=settings_of(directory)) as server:
            context = browser.new_context(base_url=f"http://{server.api}")
            page = context.new_page()
            page.goto("/")
            page.get_by_label("Name or access key").fill("ada")
            page.get_by_label("Password or secret").fill("wrong")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("alert")).to_contain_text("is wrong")
            page.get_by_label("Password or secret").fill("the password of ada")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            page.get_by_role("button", name="Sign out").click()
            page.get_by_label("Name or access key").fill(server.access_key)
            page.get_by_label("Password or secret").fill(server.secret_key)
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            # How it is done is shown to whoever may read the settings, and no password of it.
            page.goto("/access?tab=signin")
            expect(page.get_by_text(PEOPLE, exact=True)).to_be_visible()
            expect(page.get_by_role("definition").filter(has_text="by StartTLS")).to_be_visible()
            assert READER_PASSWORD not in page.content()
            context.close()
