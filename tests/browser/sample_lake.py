"""A lake as a small shop might have it: files with a history and a review, and two pools with days of rows. Pictures of
the page are made of it, and `python -m tests.browser.sample_lake FOLDER` serves one to look at."""

import csv
import io
import json
import random
import struct
import sys
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import lochan

SEED = 7
HOSTS = ("web-1", "web-2", "web-3", "api-1")
PATHS = ("/", "/cart", "/search", "/checkout", "/images/logo.png", "/api/orders")
FRUIT = ("apple", "pear", "plum", "quince", "fig", "cherry", "medlar", "damson", "apricot", "mulberry")
README = """# Shop

Everything that the shop knows, kept by **team search**.

| folder | what is in it |
|---|---|
| `raw/` | deliveries, as they come in |
| `clean/` | the same, checked: one row for each product |
| `images/` | pictures for the page |

- Prices are in euros.
- Ask in `#shop-data` before you change a column.
"""
QUALITY = """name: quality of prices
on: [pre-commit, pre-merge]
if: {branches: [main]}
hooks:
  - id: prices
    kind: query
    query: from shop/clean/prices.csv | price==null
    message: every price is known
  - id: rows
    kind: query
    template: row-count
    source: shop/clean/prices.csv
    min: 5
"""


def fill(lake: lochan.Lake) -> None:
    _shop(lake)
    _logs(lake)
    _orders(lake)
    lake.create_repository("research-notebooks").branch("main").put("notes.md", "# Notes\n")
    lake.save_query("slow requests", "from web-logs\n| ms > 250\n| count() by path\n| sort -r count")


def _shop(lake: lochan.Lake) -> None:
    chance = random.Random(SEED)
    shop = lake.create_repository("shop", metadata={"team": "search", "owner": "ada"})
    main = shop.branch("main")
    main.put("README.md", README)
    for day in range(1, 6):
        main.put(f"raw/2026-11-{day:02}/deliveries.csv", _deliveries(chance, 40))
    main.commit("Deliveries of the first days", _by("ada", 26))
    main.put("clean/prices.csv", _prices({}))
    main.put("clean/sales.parquet", _sales(chance, 500))
    main.put("images/logo.png", _picture())
    main.put("config/page.json", json.dumps({"title": "Shop", "columns": 3, "features": {"search": True}}))
    main.commit("Clean tables, and the first picture", _by("ada", 24))
    shop.create_tag("v1.0", "main")
    dev = shop.create_branch("new-prices", "main")
    stock = shop.create_branch("stock", "main")
    stock.put("clean/stock.csv", _stock(chance))
    stock.commit("Count the stock", _by("noor", 21))
    main.put("raw/2026-11-06/deliveries.csv", _deliveries(chance, 40))
    main.commit("Deliveries of 6 November", _by("collector", 20))
    stock.put("clean/stock.csv", _stock(chance))
    stock.commit("Count the cellar too", _by("noor", 18))
    main.merge(stock, _by("ada", 17))
    dev.put("clean/prices.csv", _prices({"plum": 3.45, "fig": 5.10}, extra=("nectarine", 2.95)))
    dev.put("clean/discounts.csv", "name,percent\nplum,10\nfig,5\n")
    dev.commit("Prices for the winter", _by("teo", 15))
    main.put("_lochan/hooks/quality.yaml", QUALITY)
    main.commit("Check prices before they land", _by("ada", 12))
    banner = shop.create_branch("banner", "main")
    banner.put("images/logo.png", _picture(72))
    banner.commit("A smaller picture for phones", _by("noor", 11))
    main.put("raw/2026-11-07/deliveries.csv", _deliveries(chance, 40))
    main.commit("Deliveries of 7 November", _by("collector", 9))
    dev.delete("raw/2026-11-01/deliveries.csv")
    dev.commit("The first delivery was counted twice", _by("teo", 7))
    main.merge(banner, _by("ada", 6))
    main.put("clean/prices.csv", _prices({"fig": 4.60}))
    main.commit("Figs are dearer this week", _by("noor", 4))
    shop.create_tag("v1.1", "main")
    main.put("raw/2026-11-08/deliveries.csv", _deliveries(chance, 40))
    main.put("README.md", README + "- Deliveries come at six in the morning.\n")
    _pull(shop)
    shop.create_branch("an-experiment-with-a-rather-long-name-that-somebody-left-here", "v1.0")


def _pull(shop: lochan.Repository) -> None:
    pull = shop.create_pull(
        "new-prices",
        "main",
        title="Prices for the winter",
        description="Plums and figs are **scarce** now.\n\n- two prices go up\n- nectarines are new\n",
    )
    pull.comment("Is the discount on figs still right with the new price?", path="clean/discounts.csv")
    pull.comment("I have asked the market: yes, until Christmas.")
    pull.check("prices", "success", "11 rows, none without a price")


def _by(author: str, days: float) -> lochan.CommitOptions:
    """Who commits, and how many days ago, so that a history looks as one does."""
    return lochan.CommitOptions(author=author, date=datetime.now(UTC) - timedelta(days=days, hours=2 * len(author)))


def _logs(lake: lochan.Lake) -> None:
    chance = random.Random(SEED)
    logs = lake.create_pool("web-logs", key="ts:time")
    begin = datetime(2026, 11, 1, tzinfo=UTC)
    for part in range(8):
        rows = []
        for _ in range(400):
            # Each load holds its own half day, and some rows that came late.
            late = chance.random() < 0.12
            at = begin + timedelta(minutes=chance.uniform(0, 720) + 720 * (part - (2 if late and part > 2 else 0)))
            path = chance.choice(PATHS)
            slow = path == "/checkout" and part in (4, 5)
            row: dict[str, Any] = {
                "ts": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "host": chance.choice(HOSTS),
                "method": "POST" if path == "/api/orders" else "GET",
                "path": path,
                "status": chance.choice((200, 200, 200, 200, 304, 404)) if not slow else chance.choice((200, 500, 503)),
                "ms": round(chance.lognormvariate(3 + 2 * slow, 0.8), 2),
            }
            if chance.random() < 0.3:
                row["user"] = {"id": chance.randrange(1, 500), "plan": chance.choice(("free", "team"))}
            if row["status"] >= 500:
                row["error"] = {"kind": "timeout", "upstream": chance.choice(("payments", "stock"))}
            rows.append(row)
        logs.load(
            rows, f"Requests of {begin + timedelta(hours=12 * part):%d %B, %H:%M}", _by("collector", 5 - part / 2)
        )
    logs.create_branch("without-robots", "main")


def _orders(lake: lochan.Lake) -> None:
    chance = random.Random(SEED)
    orders = lake.create_pool("orders", key="id")
    orders.load(
        [
            {"id": at, "fruit": chance.choice(FRUIT), "boxes": chance.randrange(1, 9), "paid": chance.random() < 0.8}
            for at in range(300)
        ],
        "All orders so far",
        _by("ada", 3),
    )


def _stock(chance: random.Random) -> str:
    return "name,boxes\n" + "".join(f"{each},{chance.randrange(40)}\n" for each in FRUIT)


def _deliveries(chance: random.Random, count: int) -> bytes:
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(("id", "name", "boxes", "grower"))
    for at in range(count):
        out.writerow((at + 1, chance.choice(FRUIT), chance.randrange(1, 20), chance.choice(("Okafor", "Lind", "Baró"))))
    return text.getvalue().encode()


def _prices(changed: dict[str, float], extra: tuple[str, float] | None = None) -> bytes:
    prices = {name: round(1.2 + 0.35 * at, 2) for at, name in enumerate(FRUIT)} | changed
    if extra:
        prices[extra[0]] = extra[1]
    return ("name,price\n" + "".join(f"{name},{price}\n" for name, price in prices.items())).encode()


def _sales(chance: random.Random, count: int) -> bytes:
    begin = datetime(2026, 10, 1, tzinfo=UTC)
    rows = [
        {
            "sold": begin + timedelta(minutes=61 * at),
            "name": chance.choice(FRUIT),
            "boxes": chance.randrange(1, 6),
            "euros": round(chance.uniform(1, 60), 2),
        }
        for at in range(count)
    ]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _picture(size: int = 96) -> bytes:
    """A PNG of a plum, without a library for it."""
    lines = []
    for y in range(size):
        line = bytearray([0])
        for x in range(size):
            dx, dy = (x - size / 2) / (size / 2.3), (y - size / 1.9) / (size / 2.3)
            inside = dx * dx + dy * dy < 1
            leaf = abs(x - size / 2) < 3 and y < size * 0.2
            line += (
                bytes((98 + int(40 * -dx), 46, 120)) if inside else bytes((60, 120, 70)) if leaf else b"\xf4\xf1\xea"
            )
        lines.append(bytes(line))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(lines))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


if __name__ == "__main__":
    from tests.servers.lochan import lochan_server

    with lochan_server(Path(sys.argv[1])) as served:
        with lochan.connect(f"http://{served.api}", access_key=served.access_key, secret_key=served.secret_key) as made:
            fill(made)
        print(f"http://{served.api}/  {served.access_key}  {served.secret_key}", flush=True)
        served.process.wait()
