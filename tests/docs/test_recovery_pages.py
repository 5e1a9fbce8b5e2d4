"""The commands of docs/operations/fsck.md and backup.md work as printed, and fsck.md names every kind of finding."""

import re
from pathlib import Path

from docs.tour import ROOT, play
from lochan.recovery.findings import KINDS

PAGES = ROOT / "docs" / "operations"


def test_checking_and_rebuilding(tmp_path: Path) -> None:
    page = PAGES / "fsck.md"
    printed: dict[str, list[str]] = {}
    for command, done in play(tmp_path, show=False, page=page):
        assert done.returncode == 0, (command, done.stdout)
        printed.setdefault(command, []).append(done.stdout)
    assert printed["lochan fsck"][0] in page.read_text()
    assert "range-damaged" in printed['lochan fsck demo || echo "exit code $?"'][0]
    assert "exit code 8" in printed['lochan fsck demo || echo "exit code $?"'][0]
    assert "made again" in printed["lochan fsck demo --repair"][0]
    assert "nothing is damaged" in printed["lochan fsck demo"][0]
    assert len(re.findall("^made: ", printed["lochan rebuild"][0], re.MULTILINE)) == 2
    assert "nothing is damaged" in printed["lochan fsck"][1]
    assert printed["lochan scrub demo --rate 50MB/s"][0] in page.read_text()


def test_backup_and_restore(tmp_path: Path) -> None:
    page = PAGES / "backup.md"
    printed = {}
    for command, done in play(tmp_path, show=False, page=page):
        assert done.returncode == 0, (command, done.stdout)
        printed[command] = done.stdout
    assert "backed up 1 repository to file:///" in printed["lochan backup copy"]
    assert "the backup was read again, and is right" in printed["lochan backup copy --verify"]
    assert "the new lake was checked, and is right" in printed["lochan restore copy again"]
    assert printed["lochan --lake again fs cat demo/a.txt"] == "one\n"


def test_every_kind_is_explained() -> None:
    text = (PAGES / "fsck.md").read_text()
    known = {kind for kind in KINDS if not kind.startswith(("metarange-", "range-"))}
    assert [kind for kind in sorted(known) if f"`{kind}`" not in text] == []
