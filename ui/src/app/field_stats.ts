/** What is known of the fields of a pool, from the statistics of its data objects: no row is read for it. */

import { ExactNumber, nearest } from "../api/exact_json";
import { isRecord } from "./rows";

export interface FieldStats {
  name: string;
  kinds: string[];
  present: number; // rows that have it
  min: unknown;
  max: unknown;
}

export function fieldStats(objects: readonly unknown[]): FieldStats[] {
  const found = new Map<string, FieldStats>();
  for (const object of objects) {
    const columns = isRecord(object) ? object["columns"] : null;
    if (!isRecord(columns)) continue;
    for (const [name, column] of Object.entries(columns)) {
      if (!isRecord(column)) continue;
      const kind = String(column["kind"] ?? "");
      const before = found.get(name);
      if (!before) {
        found.set(name, { name, kinds: kind ? [kind] : [], present: Number(column["present"] ?? 0), min: column["min"], max: column["max"] });
        continue;
      }
      if (kind && !before.kinds.includes(kind)) before.kinds.push(kind);
      before.present += Number(column["present"] ?? 0);
      // Of a field of several kinds there is no least value.
      before.min = before.kinds.length > 1 ? undefined : extreme(before.min, column["min"], -1);
      before.max = before.kinds.length > 1 ? undefined : extreme(before.max, column["max"], 1);
    }
  }
  return [...found.values()];
}

const isNumber = (value: unknown): boolean => typeof value === "number" || value instanceof ExactNumber;

function extreme(left: unknown, right: unknown, sign: number): unknown {
  if (left === undefined || left === null) return right;
  if (right === undefined || right === null) return left;
  if (isNumber(left) && isNumber(right)) return (nearest(right) - nearest(left)) * sign > 0 ? right : left;
  if (typeof left === "string" && typeof right === "string") return (right > left ? 1 : right < left ? -1 : 0) * sign > 0 ? right : left;
  return undefined;
}
