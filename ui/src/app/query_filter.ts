/** Steps that a value in the result adds to a query, which can be one of pipes or of SQL. */

import { exactText } from "../api/exact_json";
import { OPERATORS } from "./query_language";
import { isRecord } from "./rows";

/** Where a value is: the field of the row, and those inside it. */
export type FieldPath = readonly string[];

const PLAIN = /^[A-Za-z_]\w*$/;
const WORDS = new Set([...OPERATORS, "missing"]);
// Texts that a time, a duration or an address is shown as: an answer does not say which of them, or a text, it was.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const LITERAL = [TIME, /^(\d+(\.\d+)?(w|d|h|m|s|ms|us))+$/, /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/];

export const isSql = (query: string): boolean => /^(\s|--[^\n]*\n|\/\*[^]*?\*\/)*(select|with)\b/i.test(query);

export const fieldText = (path: FieldPath): string =>
  path.every((name) => PLAIN.test(name) && !WORDS.has(name.toLowerCase()))
    ? path.join(".")
    : `this${path.map((name) => `[${JSON.stringify(name)}]`).join("")}`;
const sqlField = (path: FieldPath): string => ["shown", ...path].map((name) => `"${name.replaceAll('"', '""')}"`).join(".");

/** Whether some rows can be told from others by this value: a record is compared by its fields. */
export const canCompare = (value: unknown): boolean =>
  value === undefined || !isRecord(value) && !(Array.isArray(value) && value.some((each) => !canCompare(each) || Array.isArray(each)));

/** The fields inside a record that have a value of their own. */
export function leaves(path: FieldPath, value: unknown): [FieldPath, unknown][] {
  if (!isRecord(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => leaves([...path, name], inner));
}

function sqlText(value: unknown): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return Array.isArray(value) ? `[${value.map(sqlText).join(", ")}]` : exactText(value);
}

function test(path: FieldPath, value: unknown, times: readonly string[]): string {
  const field = fieldText(path);
  if (value === undefined) return `missing(${field})`;
  const plain = `${field} == ${exactText(value)}`;
  if (typeof value !== "string" || !LITERAL.some((form) => form.test(value))) return plain;
  const literal = `${field} == ${value}`;
  return path.length === 1 && times.includes(path[0] ?? "") && TIME.test(value) ? literal : `(${literal} or ${plain})`;
}

/** `times`: fields that are known to hold times alone. Rows without the field are kept by "without this value". */
export function withFilter(query: string, path: FieldPath, value: unknown, keeps: boolean, times: readonly string[] = []): string {
  if (isSql(query)) {
    const [field, not] = [sqlField(path), keeps ? "not " : ""];
    const is = value === null || value === undefined ? `is ${keeps ? "" : "not "}null` : `is ${not}distinct from ${sqlText(value)}`;
    return `select * from (\n${inner(query)}\n) as shown\nwhere ${field} ${is}`;
  }
  const found = test(path, value, times);
  return `${query.trimEnd()}\n| where ${keeps ? found : `not ${found.startsWith("(") || found.startsWith("missing(") ? found : `(${found})`}`}`;
}

export function withCount(query: string, path: FieldPath): string {
  const name = path.at(-1) ?? "";
  if (isSql(query)) {
    const as = `"${name.replaceAll('"', '""')}"`;
    return `select ${sqlField(path)} as ${as}, count(*) as count from (\n${inner(query)}\n) as shown\ngroup by ${sqlField(path)}\norder by count desc`;
  }
  const field = fieldText(path);
  return `${query.trimEnd()}\n| count() by ${field.startsWith("this[") ? `value := ${field}` : field}\n| sort -r count`;
}

export function withSort(query: string, path: FieldPath, down: boolean): string {
  if (isSql(query)) return `select * from (\n${inner(query)}\n) as shown\norder by ${sqlField(path)}${down ? " desc" : ""}`;
  return `${query.trimEnd()}\n| sort ${down ? "-r " : ""}${fieldText(path)}`;
}

const inner = (query: string): string => query.trim().replace(/;+$/, "");
