import { expect, test } from "vitest";
import { ApiError, address, jsonLines, route } from "../api/request";
import { serverEvents } from "../api/event_stream";
import { ago, size } from "./format";
import { graph } from "./graph";
import { spans } from "./key_spans";
import { decodeText, previewKind, tableQuery } from "./preview";
import { markOf, offsetOf } from "./query_errors";
import { canCompare, leaves, withCount, withFilter, withSort } from "./query_filter";
import { link, match } from "./router.svelte";
import { columns } from "./rows";

test("names are escaped in addresses, and an empty one is a dash", () => {
  expect(route`/repos/${"a/b"}/refs/${""}`).toBe("/repos/a%2Fb/refs/-");
  expect(link`/pools/${"<x>"}`).toBe("/pools/%3Cx%3E");
  expect(address("/x", { a: "b&c", none: "", many: ["1", "2"] })).toBe("/api/v1/x?a=b%26c&many=1&many=2");
});

test("a pattern finds names, and only in paths of its shape", () => {
  expect(match("/repositories/:repository/commits", "/repositories/a%2Fb/commits")).toEqual({ repository: "a/b" });
  expect(match("/repositories/:repository", "/repositories/a/b")).toBeNull();
  expect(match("/repositories/:repository", "/repositories/%E0%A4%A")).toBeNull();
});

test("lines may be cut anywhere", async () => {
  const text = new TextEncoder().encode('{"a":"é"}\n{"a":2}\n');
  for (let cut = 1; cut < text.length; cut += 1) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(text.slice(0, cut));
        controller.enqueue(text.slice(cut));
        controller.close();
      },
    });
    const found: unknown[] = [];
    for await (const value of jsonLines(new Response(body))) found.push(value);
    expect(found).toEqual([{ a: "é" }, { a: 2 }]);
  }
});

test("an error keeps what the server says to do", () => {
  const error = new ApiError(409, "the branch has changed", "try again", "conflict");
  expect([error.message, error.hint, error.status]).toEqual(["the branch has changed", "try again", 409]);
});

test("sizes and times are short", () => {
  expect([size(0), size(1023), size(1536), size(5 * 1024 ** 3)]).toEqual(["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
  expect(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T02:00:00Z"))).toBe("2 hours ago");
});

test("a merge has two lines, which join where they parted", () => {
  const rows = graph([
    { id: "m", parents: ["a", "b"] },
    { id: "b", parents: ["r"] },
    { id: "a", parents: ["r"] },
    { id: "r", parents: [] },
  ]);
  expect(rows.map((row) => row.lane)).toEqual([0, 1, 0, 0]);
  expect(rows[0]?.down).toEqual([0, 1]);
  expect(rows[2]?.down).toEqual([0]); // straight on, and the other lane joins it
  expect(rows[3]?.joins).toEqual([0, 1]);
});

test("objects that overlap have levels of their own", () => {
  const found = spans([
    { id: "a", min: 1, max: 5, count: 2 },
    { id: "b", min: 4, max: 9, count: 3 },
    { id: "c", min: 10, max: 12, count: 1 },
    { id: "none", min: null, max: null },
  ]);
  expect(found.map((each) => [each.id, each.level])).toEqual([["a", 0], ["b", 1], ["c", 0]]);
});

test("a preview goes by the name, and its query quotes it", () => {
  expect(previewKind("a/b.PARQUET", "")).toBe("table");
  expect(previewKind("x", "text/plain")).toBe("text");
  expect(previewKind("x.bin", "")).toBe("none");
  expect(tableQuery("shop", "main", 'a "b".csv', 5)).toBe('from shop@main/"a \\"b\\".csv" | head 5');
  expect(decodeText(new Uint8Array([0xff, 0xfe]))).toBeNull();
});

test("an error of a query is marked where it is", () => {
  const mark = markOf("unknown field: line 2, column 3");
  expect(mark && offsetOf("from x\n| zap", mark)).toBe(9);
  expect(markOf("no place")).toBeNull();
});

test("a value becomes a step of the query", () => {
  expect(withFilter("from x", ["host"], 'a"b', true)).toBe('from x\n| where host == "a\\"b"');
  expect(withFilter("from x", ["a b", "c"], null, false)).toBe('from x\n| where not (this["a b"]["c"] == null)');
  expect(withFilter("from x", ["user", "id"], 7, true)).toBe("from x\n| where user.id == 7");
  expect(withFilter("from x", ["user"], undefined, false)).toBe("from x\n| where not missing(user)");
  expect(withFilter("from x", ["from"], 1, true)).toBe('from x\n| where this["from"] == 1');
  expect(withCount("from x\n", ["host"])).toBe("from x\n| count() by host\n| sort -r count");
  expect(withCount("from x", ["a b"])).toBe('from x\n| count() by value := this["a b"]\n| sort -r count');
  expect(withSort("from x", ["user", "id"], true)).toBe("from x\n| sort -r user.id");
});

test("a text that may be a time is compared as both, unless the field holds times alone", () => {
  const at = "2026-11-01T10:00:00.5Z";
  expect(withFilter("from x", ["ts"], at, true)).toBe(`from x\n| where (ts == ${at} or ts == "${at}")`);
  expect(withFilter("from x", ["ts"], at, false, ["ts"])).toBe(`from x\n| where not (ts == ${at})`);
  expect(withFilter("from x", ["at"], "10.0.0.1", true)).toContain('(at == 10.0.0.1 or at == "10.0.0.1")');
});

test("a query of SQL is wrapped, and not piped", () => {
  const sql = "-- all\nselect * from x;";
  expect(withFilter(sql, ["user", "id"], 'it\'s', false)).toBe(
    `select * from (\n-- all\nselect * from x\n) as shown\nwhere "shown"."user"."id" is distinct from 'it''s'`,
  );
  expect(withFilter("SELECT 1 AS a", ["a"], undefined, true)).toMatch(/where "shown"."a" is null$/);
  expect(withCount("select 1 as a", ["a"])).toMatch(/group by "shown"."a"\norder by count desc$/);
  expect(withSort("select 1 as a", ["a"], false)).toMatch(/order by "shown"."a"$/);
});

test("a record is compared by the fields inside it", () => {
  const row = { user: { id: 7, plan: "team" } };
  expect([canCompare(row), canCompare([1, 2]), canCompare(undefined), canCompare(null)]).toEqual([false, true, true, true]);
  expect(leaves(["row"], row)).toEqual([
    [["row", "user", "id"], 7],
    [["row", "user", "plan"], "team"],
  ]);
});

test("columns are all fields in the order of their first appearance", () => {
  expect(columns([{ b: 1 }, 5, { a: 2, b: 3 }])).toEqual(["b", "a"]);
});

test("server-sent events of any type are read, and comments are not", async () => {
  const text = 'id: 7\nevent: committed\ndata: {"a":1}\n\n: alive\n\ndata: x\n\n';
  const found: unknown[] = [];
  for await (const event of serverEvents(new Response(text))) found.push(event);
  expect(found).toEqual([
    { id: "7", type: "committed", data: '{"a":1}' },
    { id: "", type: "message", data: "x" },
  ]);
});
