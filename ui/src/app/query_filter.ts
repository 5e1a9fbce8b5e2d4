/** Steps that a value in the result adds to a query. */

const PLAIN = /^[A-Za-z_]\w*$/;

const fieldText = (field: string): string => (PLAIN.test(field) ? field : `this[${JSON.stringify(field)}]`);

export function valueText(value: unknown): string | null {
  if (value === null) return "null";
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return JSON.stringify(value);
  return null; // a record or a list has no literal that is sure to be equal
}

export function withFilter(query: string, field: string, value: unknown, keeps: boolean): string | null {
  const text = valueText(value);
  if (text === null) return null;
  const test = text === "null" ? `${fieldText(field)} is ${keeps ? "" : "not "}null` : `${fieldText(field)} ${keeps ? "==" : "!="} ${text}`;
  return `${query.trimEnd()}\n| where ${test}`;
}

export const withCount = (query: string, field: string): string =>
  `${query.trimEnd()}\n| count() by ${fieldText(field)}`;
