/** Where data objects lie on the axis of a pool's key. Keys of any kind are placed by rank, so that all are visible. */

import { exactText } from "../api/exact_json";
import { isRecord } from "./rows";

export interface KeySpan {
  id: string;
  rows: number;
  from: number; // 0 to 1
  to: number;
  label: string;
  bytes: number;
  overlaps: boolean;
  level: number; // objects that overlap have different levels
}

export function spans(objects: readonly unknown[]): KeySpan[] {
  const found = objects.filter(isRecord).filter((each) => each["min"] !== null && each["min"] !== undefined);
  const order = [...new Set(found.flatMap((each) => [keyText(each["min"]), keyText(each["max"])]))].sort(compare);
  const rank = new Map(order.map((text, at) => [text, order.length > 1 ? at / (order.length - 1) : 0.5]));
  const made = found.map((each) => ({
    id: String(each["id"] ?? ""),
    rows: Number(each["count"] ?? each["rows"] ?? 0),
    from: rank.get(keyText(each["min"])) ?? 0,
    to: rank.get(keyText(each["max"])) ?? 1,
    bytes: Number(each["size"] ?? 0),
    overlaps: false,
    label: `${keyText(each["min"])} – ${keyText(each["max"])}`,
    level: 0,
  }));
  made.sort((left, right) => left.from - right.from || left.to - right.to);
  const ends: number[] = [];
  for (const each of made) {
    const level = ends.findIndex((end) => end < each.from);
    each.level = level < 0 ? ends.length : level;
    ends[each.level] = each.to;
  }
  // By their beginnings, each overlaps those before it that have not ended.
  let open: KeySpan[] = [];
  for (const each of made) {
    open = open.filter((before) => before.to >= each.from);
    for (const before of open) before.overlaps = each.overlaps = true;
    open.push(each);
  }
  return made;
}

/** How far the objects are from lying side by side, each of the pool's size. */
export function fragmentation(spans: readonly KeySpan[], targetBytes: number) {
  return {
    depth: 1 + Math.max(0, ...spans.map((each) => each.level)),
    overlapping: spans.filter((each) => each.overlaps).length,
    small: spans.length > 1 ? spans.filter((each) => each.bytes < targetBytes / 2).length : 0,
  };
}

const keyText = (value: unknown): string => (typeof value === "string" ? value : exactText(value));

function compare(left: string, right: string): number {
  const difference = Number(left) - Number(right);
  if (!Number.isNaN(difference) && difference !== 0) return difference; // ints beyond 53 bits may look equal
  return left < right ? -1 : left > right ? 1 : 0;
}
