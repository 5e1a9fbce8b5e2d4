import { expect, test } from "vitest";
import { firstSteps } from "./first_steps";
import { brushed, bucketsOf, filterPart, heights, pipes, poolOf } from "./histogram";
import { inOrder } from "./listing";
import { blocks, headingId, inline } from "./markdown";
import { PagedList } from "./paged_list";
import { samples, totals } from "./prometheus";
import { changedFields } from "./rows";
import { sparkPath } from "./sparkline";
import { forgetWorkspace, keepWorkspace, keptWorkspace, partsOf } from "./workspace_of_browser";

test("a long list holds few pages, and asks again for those it has left", async () => {
  const total = 100_000;
  const page = 1_000;
  let asked = 0;
  const list = new PagedList<number>(
    async (after) => {
      asked += 1;
      const start = after ? Number(after) : 0;
      const items = Array.from({ length: page }, (_, at) => start + at);
      return { items, next: start + page < total ? String(start + page) : null };
    },
    () => undefined,
    4,
  );
  for (let at = 0; at < total; at += page) await list.show(at, at + 10);
  expect([list.count, list.whole, asked]).toEqual([total, true, total / page]);
  expect([list.row(99_999), list.row(5)]).toEqual([99_999, undefined]);
  await list.show(0, 10);
  expect([list.row(5), asked]).toEqual([5, total / page + 1]);
});

test("a page that fails is asked for again", async () => {
  let fails = true;
  const list = new PagedList<number>(
    async () => {
      if (fails) throw new Error("no");
      return { items: [1], next: null };
    },
    () => undefined,
  );
  await expect(list.show(0, 1)).rejects.toThrow("no");
  fails = false;
  await list.show(0, 1);
  expect(list.row(0)).toBe(1);
});

test("folders come first only if nothing follows", () => {
  const object = { path: "a" } as never;
  const page = { prefixes: ["b/"], objects: [object], next: null };
  expect(inOrder(page, true)).toEqual(["b/", object]);
  expect(inOrder(page, false)).toEqual([object, "b/"]);
});

test("a histogram looks at the rows that a query filters", () => {
  expect(poolOf("from logs | head 5")).toBe("logs");
  expect(poolOf("from logs@dev\n| count()")).toBe("logs");
  expect(poolOf("from shop@main/a.csv")).toBeNull();
  expect(poolOf("select 1")).toBeNull();
  expect(pipes('from a | where b == "|" | head')).toEqual(["from a ", ' where b == "|" ', " head"]);
  expect(filterPart("from a | where x > 1 | count() by y")).toBe("from a | where x > 1");
  const buckets = bucketsOf("from a", "ts", "2026-11-01T10:00:00Z", "2026-11-01T10:02:00Z");
  expect(buckets && [buckets.width, buckets.count]).toEqual([5_000, 25]);
  expect(bucketsOf("from a", "n", 0, 96)?.width).toBe(2);
  expect(bucketsOf("from a", "n", { a: 1 }, 2)).toBeNull();
});

test("brushing keeps the steps behind the filters", () => {
  const buckets = bucketsOf("from a | count()", "ts", "2026-11-01T10:00:00Z", "2026-11-01T10:02:00Z");
  expect(buckets && brushed("from a | count()", "ts", buckets, 0, 1)).toBe(
    "from a\n| where ts >= 2026-11-01T10:00:00Z and ts < 2026-11-01T10:00:10Z\n| count()",
  );
  const numbers = bucketsOf("from a", "n", 0, 9);
  expect(numbers && heights(numbers, [{ at: 3, count: 7 }, { at: 99, count: 1 }])[3]).toBe(7);
});

test("markdown becomes data, and hostile text stays text", () => {
  expect(inline("a `b|c` [d](e.md#f) **g**")).toEqual([
    { kind: "text", text: "a " },
    { kind: "code", text: "b|c" },
    { kind: "text", text: " " },
    { kind: "link", text: "d", to: "e.md#f" },
    { kind: "text", text: " " },
    { kind: "strong", text: "g" },
  ]);
  const found = blocks("# <img src=x>\n\ntext\nmore\n\n- a\n  b\n- c\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```\n# no\n```\n> q");
  expect(found.map((each) => each.kind)).toEqual(["heading", "paragraph", "list", "table", "code", "quote"]);
  expect(found[0]).toMatchObject({ text: [{ kind: "text", text: "<img src=x>" }] });
  expect(headingId("What `it` says, now")).toBe("what-it-says-now");
  expect(blocks("| not a table")).toHaveLength(1);
});

test("counters are added up", () => {
  const all = samples('# HELP x\nx_total{operation="Get",status="200"} 3.0\nx_total{operation="Get",status="404"} 1\ny 2\n');
  expect(totals(all, "x_total", "operation")).toEqual([["Get", 4]]);
  expect(all[2]).toEqual({ name: "y", labels: {}, value: 2 });
});

test("fields that differ, sparklines, workspaces and first steps", () => {
  expect([...changedFields({ a: 1, b: [1] }, { a: 2, b: [1], c: null })]).toEqual(["a", "c"]);
  expect(sparkPath([0, 2], 10, 10)).toBe("M0.0 9.0L10.0 1.0");
  expect(partsOf("a+b+c")).toEqual({ branch: "a+b", id: "c" });
  keepWorkspace("shop", "main+k1");
  keepWorkspace("shop", "main");
  expect(keptWorkspace("shop", "main")).toBe("k1");
  forgetWorkspace("shop", "main");
  expect(keptWorkspace("shop", "main")).toBe("");
  expect(firstSteps("http://h:1").every((each) => each.text.includes("h:1"))).toBe(true);
});
