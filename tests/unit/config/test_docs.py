"""The page about the configuration follows the table of settings."""

from pathlib import Path

from lochan.config.settings import OTHER_VARIABLES, SETTINGS, Setting

PAGE = Path(__file__).parents[3] / "docs" / "operations" / "configuration.md"


def test_the_page_has_a_row_for_each_setting_as_the_table_of_settings_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(map(row, SETTINGS)) in page, "these should be its rows:\n" + "\n".join(map(row, SETTINGS))


def test_the_page_names_the_variables_that_are_not_settings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in OTHER_VARIABLES)


def row(setting: Setting) -> str:
    names = ", ".join(f"`{name}`" for name in setting.also)
    default = f"`{setting.default_text}`" if setting.default is not None else ""
    return f"| `{setting.key}` | {setting.kind.expected} | {default} | {setting.about} | {names} |"
