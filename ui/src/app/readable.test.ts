import { expect, test } from "vitest";
import { codeParts } from "./markdown";
import { queryExamples } from "./query_examples";
import { likelyKeys } from "./rows";
import { layoutSql } from "./sql_layout";
import { lakeUrl, storesOf } from "./stores";
import { firstDay, usageByUser, usageQuery } from "./usage_by_user";
import type { RepositoryInfo } from "../api/types";

const repository = (name: string, more: Partial<RepositoryInfo> = {}): RepositoryInfo => ({
  name, id: `id-${name}`, kind: "files", default_branch: "main", created: "", created_by: "", metadata: {}, ...more,
});

test("a statement has its clauses on lines of their own, and what is quoted stays as it is", () => {
  expect(layoutSql(`SELECT "a (FROM" FROM (SELECT 'x WHERE y' FROM t WHERE a IN (1, 2)) AS t LIMIT 3`)).toBe(
    [`SELECT "a (FROM"`, "FROM (", "  SELECT 'x WHERE y'", "  FROM t", "  WHERE a IN (1, 2)", ") AS t", "LIMIT 3"].join("\n"),
  );
  expect(layoutSql("SELECT list(a ORDER BY b) FROM t LEFT JOIN u")).toBe("SELECT list(a ORDER BY b)\nFROM t\nLEFT JOIN u");
});

test("a layout changes nothing but white space", () => {
  const sql = `SELECT count(*) FROM (SELECT 'it''s' FROM "x""y" GROUP BY a HAVING b > 1 UNION ALL SELECT 2)`;
  expect(layoutSql(sql).replace(/\s/g, "")).toBe(sql.replace(/\s/g, ""));
});

test("rows are matched by fields that name each of them once, on both sides", () => {
  const rows = [
    { before: { name: "fig", price: 1, kind: "a" }, after: null },
    { before: { name: "plum", price: 2, kind: "a" }, after: null },
    { before: null, after: { name: "fig", price: 3, kind: "a" } },
    { before: null, after: { name: "plum", price: 2, kind: "a" } },
  ];
  expect(likelyKeys(rows)).toEqual(["name", "price"]);
  expect(likelyKeys([{ before: null, after: { name: "fig" } }])).toEqual([]);
  expect(likelyKeys([{ before: { id: null }, after: { id: null } }])).toEqual([]);
});

test("stores are the lake's place and those of their own", () => {
  const found = storesOf(
    [repository("a"), repository("b", { storage: "s3://team/b", credentials: "team" }), repository("c", { storage: "s3://team/b", credentials: "other" })],
    { url: "file:///lake", scheme: "file" },
  );
  expect(found.map((each) => [each.url, each.scheme, each.credentials, each.own, each.repositories.map((one) => one.name)])).toEqual([
    ["file:///lake", "file", "", true, ["a"]],
    ["s3://team/b", "s3", "team", false, ["b"]],
    ["s3://team/b", "s3", "other", false, ["c"]],
  ]);
  expect(lakeUrl("s3://bucket/lake/id-a/", "id-a")).toBe("s3://bucket/lake");
  expect(lakeUrl("s3://elsewhere", "id-a")).toBe("");
});

test("use is summed up by user, with a place for each day", () => {
  const now = Date.parse("2026-11-18T10:00:00Z");
  const row = { user: "ada", repository: "shop", day: "2026-11-18T00:00:00Z", requests: 3, bytes: 10, failed: 1, last: "2026-11-18T09:00:00Z" };
  const found = usageByUser(
    [row, { ...row, repository: "logs", day: "2026-11-16T00:00:00Z", requests: 5, last: "2026-11-16T09:00:00Z" }, { ...row, user: "teo", requests: 1 }],
    3,
    now,
  );
  expect(found.map((each) => [each.user, each.requests, each.bytes, each.failed, each.days])).toEqual([
    ["ada", 8, 20, 2, [5, 0, 3]],
    ["teo", 1, 10, 1, [0, 0, 1]],
  ]);
  expect(found[0]?.last).toBe("2026-11-18T09:00:00Z");
  expect(found[0]?.repositories.map((each) => each.name)).toEqual(["logs", "shop"]);
  expect(firstDay(3, now)).toBe("2026-11-16T00:00:00Z");
  expect(usageQuery(firstDay(1, now))).toContain("time >= 2026-11-18T00:00:00Z");
});

test("queries to begin with name what there is", () => {
  expect(queryExamples([]).map((each) => each.text)).toEqual([expect.stringContaining("from :usage")]);
  const found = queryExamples([repository("shop"), repository("logs", { kind: "pool" })]).map((each) => each.text);
  expect(found[0]).toBe("from logs\n| head 100");
  expect(found).toContain("from shop:log\n| count() by author\n| sort -r count");
});

test("in a message only code is marked", () => {
  expect(codeParts("`lochan ls` shows *all* [of](them)")).toEqual([
    { kind: "code", text: "lochan ls" },
    { kind: "text", text: " shows *all* [of](them)" },
  ]);
});
