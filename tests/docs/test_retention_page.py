"""The commands of docs/operations/retention.md work as printed."""

from pathlib import Path

from docs.tour import ROOT, play

PAGE = ROOT / "docs" / "operations" / "retention.md"


def test_the_commands_work(tmp_path: Path) -> None:
    rules = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "rules.yaml").write_text(rules)
    printed = {}
    for command, done in play(tmp_path, show=False, page=PAGE):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    assert "uploads: 7 days" in printed["lochan gc rules show demo"]
    assert "no server is running" in printed["lochan gc rules check demo --file rules.yaml"]
    assert "servers_why" in printed["lochan usage show"]
