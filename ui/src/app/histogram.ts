/** How many rows of a query lie where on the key of its pool. */

import { nearest } from "../api/exact_json";
import WORDS from "./query_functions.json";
import { STEPS } from "./query_language";

const BARS = 48;
const SECONDS = [1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000, 31_536_000];

export interface Buckets {
  query: string;
  start: number; // of the first, as a number or in milliseconds since 1970
  width: number;
  count: number;
  isTime: boolean;
}

/** The pool that a query reads, if it begins with a plain `from`. */
export function poolOf(query: string): string | null {
  return /^\s*from\s+([A-Za-z0-9][\w-]*)(@[^\s|:/]+)?\s*(\||$)/i.exec(query)?.[1] ?? null;
}

/** The beginning of a query up to the first step that is no filter: the rows that it looks at. */
export function filterPart(query: string): string {
  const steps = pipes(query);
  let end = 1;
  while (end < steps.length && isFilter(steps[end] ?? "")) end += 1;
  return steps.slice(0, end).join("|").trimEnd();
}

/** A step that keeps rows as they are or drops them: `where …`, a search, or a condition such as `status >= 500`. */
function isFilter(step: string): boolean {
  const text = step.replace(/--[^\n]*/g, "").trim();
  const word = /^[A-Za-z_]\w*/.exec(text)?.[0] ?? "";
  if (/^(where|search)$/i.test(word)) return true;
  if (!text || STEPS.has(word.toLowerCase())) return false;
  const call = /^[A-Za-z_]\w*\s*\(/.test(text);
  if (call && word in WORDS.aggregates) return false;
  return !/^[^"'=]*:=/.test(text); // it sets a field, or names an aggregate
}

/** Cut at the pipes that are not inside quotes. */
export function pipes(query: string): string[] {
  const found = [""];
  let quote = "";
  for (let at = 0; at < query.length; at += 1) {
    const letter = query[at] ?? "";
    if (quote) {
      if (letter === "\\") found[found.length - 1] += query[at++] ?? "";
      else if (letter === quote) quote = "";
    } else if (letter === '"' || letter === "'") quote = letter;
    if (letter === "|" && !quote) found.push("");
    else found[found.length - 1] += query[at] ?? "";
  }
  return found;
}

export function bucketsOf(query: string, key: string, least: unknown, most: unknown): Buckets | null {
  const isTime = typeof least === "string" && !Number.isNaN(Date.parse(least));
  const [low, high] = isTime ? [Date.parse(String(least)), Date.parse(String(most))] : [nearest(least), nearest(most)];
  if (!Number.isFinite(low) || !Number.isFinite(high) || typeof least === "boolean") return null;
  const span = Math.max(high - low, isTime ? 1_000 : 1);
  let width: number;
  if (isTime) width = (SECONDS.find((each) => span / (each * 1_000) <= BARS) ?? 31_536_000) * 1_000;
  else {
    const power = 10 ** Math.floor(Math.log10(span / BARS));
    width = Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => span / each <= BARS) ?? power * 10);
  }
  const start = Math.floor(low / width) * width;
  const step = isTime ? `${width / 1_000}s` : String(width);
  return {
    query: `${filterPart(query)}\n| count() by at := bucket(${key}, ${step})`,
    start,
    width,
    count: Math.min(400, Math.floor((high - start) / width) + 1),
    isTime,
  };
}

/** The counts by bucket; rows that lie elsewhere are left out. */
export function heights(buckets: Buckets, rows: readonly Record<string, unknown>[]): number[] {
  const found = new Array<number>(buckets.count).fill(0);
  for (const row of rows) {
    const at = buckets.isTime ? Date.parse(String(row["at"])) : Number(row["at"]);
    const index = Math.round((at - buckets.start) / buckets.width);
    if (index >= 0 && index < found.length) found[index] = Number(row["count"] ?? 0);
  }
  return found;
}

const literal = (value: number, isTime: boolean): string =>
  isTime ? new Date(value).toISOString().replace(".000Z", "Z") : String(value);

/** The query with only the rows of these buckets. */
export function brushed(query: string, key: string, buckets: Buckets, first: number, last: number): string {
  const from = literal(buckets.start + first * buckets.width, buckets.isTime);
  const to = literal(buckets.start + (last + 1) * buckets.width, buckets.isTime);
  const head = filterPart(query);
  const rest = query.slice(head.length).trim();
  return `${head}\n| where ${key} >= ${from} and ${key} < ${to}${rest ? `\n${rest}` : ""}`;
}

export const bucketLabel = (buckets: Buckets, at: number): string =>
  literal(buckets.start + at * buckets.width, buckets.isTime);
