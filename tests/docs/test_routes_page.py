"""The page of the routes is what the table of verbs says."""

from docs.routes import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "`python -m docs.routes` writes it"
