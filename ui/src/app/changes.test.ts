import { expect, test } from "vitest";
import type { Commit } from "../api/types";
import { joined } from "./all_branches";
import { fieldStats } from "./field_stats";
import { filterPart } from "./histogram";
import { fragmentation, spans } from "./key_spans";
import { linesFor } from "./lines_for";
import { poolsIn, signature } from "./query_language";
import { PIXELS_MAX, windowOf } from "./row_window";
import { goShortcut, SHORTCUTS } from "./shortcuts";
import { diffLines, folded, LINES_MAX } from "./text_diff";

const commit = (id: string, date: string, ...parents: string[]) => ({ id, date, parents }) as Commit;

test("lines that differ, with their numbers on either side", () => {
  const found = diffLines("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n") ?? [];
  expect(found.map((each) => [each.kind, each.text, each.before, each.after])).toEqual([
    ["same", "a", 1, 1],
    ["removed", "b", 2, null],
    ["added", "x", null, 2],
    ["same", "c", 3, 3],
    ["same", "d", 4, 4],
    ["added", "e", null, 5],
  ]);
  expect(diffLines("", "a")?.map((each) => each.kind)).toEqual(["added"]);
  expect(diffLines("a", "a")?.every((each) => each.kind === "same")).toBe(true);
  const long = (text: string) => Array.from({ length: LINES_MAX + 1 }, (_, at) => text + at).join("\n");
  expect(diffLines(long("a"), long("b"))).toBeNull();
  expect(diffLines(long("a"), `${long("a")}\nend`)?.at(-1)?.kind).toBe("added");
});

test("what is the same and far from a difference is folded", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `${at}`);
  const found = folded(diffLines(lines.join("\n"), [...lines.slice(0, 10), "new", ...lines.slice(10)].join("\n")) ?? []);
  expect(found[0]).toEqual({ kind: "gap", lines: 7 });
  expect(found.at(-1)).toEqual({ kind: "gap", lines: 7 });
  expect(found).toHaveLength(9);
});

test("histories become one, and no commit stands above its children, whatever clocks said", () => {
  const found = joined([
    [commit("m", "2026-01-03", "a"), commit("a", "2026-01-09", "r"), commit("r", "2026-01-01")],
    [commit("d", "2026-01-04", "r"), commit("r", "2026-01-01")],
  ]);
  expect(found.map((each) => each.id)).toEqual(["d", "m", "a", "r"]);
  expect(joined([[commit("x", "2026-01-01", "not asked for")]]).map((each) => each.id)).toEqual(["x"]);
});

test("a long list stays below what browsers lay out, and its end is reached", () => {
  const short = windowOf({ top: 4_000, height: 400, count: 1_000, row: 40, beyond: 20 });
  expect(short).toEqual({ first: 80, last: 130, above: 3_200, below: 34_800 });
  const view = { height: 400, count: 1_000_000, row: 40, beyond: 20 };
  const end = windowOf({ ...view, top: PIXELS_MAX - view.height });
  expect(end.last).toBeGreaterThanOrEqual(view.count);
  expect(end.above).toBeLessThanOrEqual(PIXELS_MAX);
  const middle = windowOf({ ...view, top: PIXELS_MAX / 2 });
  expect(middle.first).toBe(view.count / 2 - view.beyond);
  expect(middle.above + (middle.last - middle.first) * view.row + middle.below).toBe(PIXELS_MAX);
});

test("objects that overlap and small ones are counted", () => {
  const found = spans([
    { id: "a", min: 1, max: 5, count: 2, size: 10 },
    { id: "b", min: 4, max: 9, count: 3, size: 90 },
    { id: "c", min: 10, max: 12, count: 1, size: 90 },
  ]);
  expect(fragmentation(found, 100)).toEqual({ depth: 2, overlapping: 2, small: 1 });
  expect(fragmentation([], 100)).toEqual({ depth: 1, overlapping: 0, small: 0 });
});

test("fields are known by the statistics of objects", () => {
  const found = fieldStats([
    { columns: { n: { kind: "int", present: 3, min: 2, max: 9 }, t: { kind: "string", present: 1, min: "b", max: "b" } } },
    { columns: { n: { kind: "int", present: 2, min: 1, max: 4 }, t: { kind: "int", present: 1, min: 1, max: 1 } } },
    "not an object",
  ]);
  expect(found).toEqual([
    { name: "n", kinds: ["int"], present: 5, min: 1, max: 9 },
    { name: "t", kinds: ["string", "int"], present: 2, min: undefined, max: undefined },
  ]);
});

test("a condition is a filter, and what makes rows is none", () => {
  expect(filterPart('from a | status >= 500 | "timed out" | has(x) | cut y')).toBe('from a | status >= 500 | "timed out" | has(x)');
  for (const step of ["count() by x", "n := count()", "sort x", "head 5", "y := x * 2", "union (from b)"])
    expect(filterPart(`from a | ${step}`)).toBe("from a");
  expect(filterPart('from a | x == ":=" | head')).toBe('from a | x == ":="');
});

test("what the editor knows of a query", () => {
  expect(poolsIn("from web-logs@dev | join (from users) on id")).toEqual(["web-logs", "users"]);
  expect(signature("bucket")?.[0]).toBe("bucket(t, duration)");
  expect(signature("nothing")).toBeUndefined();
});

test("lines to copy quote whatever a path holds", () => {
  const found = Object.fromEntries(linesFor("http://h:1", "shop", "main", "it's \"odd\".csv").map((each) => [each.program, each.text]));
  expect(found["AWS CLI"]).toContain(`'s3://shop/main/it'\\''s "odd".csv'`);
  expect(found["boto3"]).toContain(`Key="main/it's \\"odd\\".csv"`);
  expect(found["DuckDB"]).toContain(`'s3://shop/main/it''s "odd".csv'`);
  expect(found["Spark"]).toContain("spark.read.csv(");
});

test("keys that go to views are listed", () => {
  expect(goShortcut("q")).toBe("/query");
  expect(goShortcut("x")).toBeUndefined();
  expect(SHORTCUTS.map(([keys]) => keys)).toContain("g q");
});
