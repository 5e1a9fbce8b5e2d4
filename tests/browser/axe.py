"""What axe says against a page: WCAG AA, such as contrast, labels and roles."""

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"


def complaints(page: Page) -> list[tuple[str, list[str]]]:
    """Each rule that is broken, and where."""
    page.evaluate(AXE.read_text())  # the page's own policy lets no script in; the tool is not the page's
    found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    return [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]]
