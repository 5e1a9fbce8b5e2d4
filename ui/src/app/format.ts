/** Sizes, counts, times and ids as people read them. */

import { exactText } from "../api/exact_json";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const NUMBER = new Intl.NumberFormat("en");
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const count = (value: number): string => NUMBER.format(value);
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
export const shortId = (id: string): string => id.slice(0, 10);
export const fullTime = (time: string): string => DATE.format(new Date(time));
export const secondOf = (time: string): string => SECOND.format(new Date(time));

export function ago(time: string, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  for (const [unit, length] of STEPS)
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.round(seconds / length), unit);
  return "just now";
}

export const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";
export const fileName = (path: string): string => path.replace(/\/$/, "").split("/").pop() ?? path;

/** The key of a row: its parts. */
export const keyText = (parts: unknown): string => (Array.isArray(parts) ? parts.map(cell).join(", ") : cell(parts));

/** A value of a row in one cell. */
export function cell(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return exactText(value);
}
