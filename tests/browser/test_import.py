"""Files of a real bucket become objects of a branch that is there, and of one that is made for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import TIMEOUT_MS, administrator
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import minio

BUCKET = "deliveries"


@pytest.fixture(scope="module")
def beside_a_bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LochanServer]:
    with minio() as store:
        store.bucket(BUCKET)
        client = store.boto3()
        for number in range(3):
            client.put_object(Bucket=BUCKET, Key=f"in/{number}.csv", Body=b"a\n1\n")
        client.close()
        env = {
            "AWS_ENDPOINT_URL": store.endpoint,
            "AWS_ACCESS_KEY_ID": store.access_key,
            "AWS_SECRET_ACCESS_KEY": store.secret_key,
        }
        with lochan_server(Path(tmp_path_factory.mktemp("lake")), env=env) as server:
            server.lochan("repo", "create", "shop")
            server.lochan("branch", "create", "shop@dev")
            yield server


@pytest.fixture
def page(browser: Browser, beside_a_bucket: LochanServer) -> Iterator[Page]:
    with administrator(browser, beside_a_bucket) as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto("/repositories/shop/settings?tab=import")
        yield page


def _look(page: Page) -> None:
    page.get_by_label("Where the files are").fill(f"s3://{BUCKET}/in/")
    page.get_by_label("Their paths here begin with").fill("raw/")
    page.get_by_role("button", name="See what would be imported").click()
    expect(page.get_by_role("status").filter(has_text="+3 added")).to_be_visible()


def test_into_a_branch_that_is_there(page: Page) -> None:
    page.get_by_label("Branch", exact=True).fill("dev")
    _look(page)
    expect(page.get_by_role("status").filter(has_text="On dev:")).to_be_visible()
    page.get_by_role("button", name="Import and commit").click()
    page.get_by_role("link", name="Browse it").click()
    page.get_by_role("link", name="raw/").click()
    expect(page.get_by_role("link", name="2.csv")).to_be_visible()
    page.goto("/repositories/shop")
    expect(page.get_by_text("There are no objects here yet")).to_be_visible()  # main has none of them


def test_into_a_new_branch(page: Page) -> None:
    page.get_by_label("Into a new branch").check()
    page.get_by_label("Name of the new branch").fill("fresh")
    _look(page)
    expect(page.get_by_role("status").filter(has_text="On fresh, which begins at main")).to_be_visible()
    page.get_by_role("button", name="Create the branch, import and commit").click()
    expect(page.get_by_text("Imported 3 objects into fresh.")).to_be_visible()
    page.get_by_role("link", name="Browse it").click()
    page.get_by_role("link", name="raw/").click()
    expect(page.get_by_role("link", name="0.csv")).to_be_visible()
    page.goto("/repositories/shop/settings?tab=import")
    page.get_by_label("Into a new branch").check()
    page.get_by_label("Name of the new branch").fill("fresh")  # it is there by now
    page.get_by_label("Where the files are").fill(f"s3://{BUCKET}/in/")
    page.get_by_role("button", name="See what would be imported").click()
    page.get_by_role("button", name="Create the branch, import and commit").click()
    expect(page.get_by_role("alert").filter(has_text="fresh")).to_be_visible()
