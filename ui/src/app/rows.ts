/** Rows of any shape as a table: the fields of all of them, in the order in which they first appear. */

export type Row = Record<string, unknown>;

export function isRecord(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
  return new Set([...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])));
}
