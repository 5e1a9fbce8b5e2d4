/** Rows of any shape as a table: the fields of all of them, in the order in which they first appear. */

import { ExactNumber, exactText } from "../api/exact_json";

export type Row = Record<string, unknown>;

export function isRecord(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

export function columns(rows: readonly unknown[]): string[] {
  const found = new Set<string>();
  for (const row of rows) if (isRecord(row)) for (const name of Object.keys(row)) found.add(name);
  return [...found];
}

/** The fields whose values differ between two rows. */
export function changedFields(before: unknown, after: unknown): Set<string> {
  if (!isRecord(before) || !isRecord(after)) return new Set();
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return new Set([...names].filter((name) => exactText(before[name]) !== exactText(after[name])));
}

const OFFERS = 4;

/** Fields by which the rows of two sides can be matched: each value is there at most once on a side, and some are on
 * both. Those that match most rows come first. */
export function likelyKeys(changes: readonly { before: unknown; after: unknown }[]): string[] {
  const before = changes.map((each) => each.before).filter(isRecord);
  const after = changes.map((each) => each.after).filter(isRecord);
  const found: [string, number][] = [];
  for (const name of columns([...before, ...after])) {
    const [old, now] = [before, after].map((rows) => rows.map((row) => (row[name] === undefined ? undefined : exactText(row[name]))));
    if (!old || !now || [...old, ...now].some((value) => value === undefined || value === "null")) continue;
    const [left, right] = [new Set(old), new Set(now)];
    const both = [...left].filter((value) => right.has(value)).length;
    if (both && left.size === old.length && right.size === now.length) found.push([name, both]);
  }
  return found.sort((one, other) => other[1] - one[1]).slice(0, OFFERS).map(([name]) => name);
}
