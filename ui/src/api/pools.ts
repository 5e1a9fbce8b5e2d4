import { parseExact } from "./exact_json";
import { json, route, send } from "./request";
import type { PoolSummary } from "./types";

export const poolSummary = (pool: string, branch = "") =>
  json<PoolSummary>("GET", route`/pool/${pool}/summary`, { query: { branch } });
export const poolFields = (pool: string) => json<string[]>("GET", route`/pool/${pool}/fields`);

export interface CompactGroup {
  objects: number;
  rows: number;
  bytes: number;
  why: string;
}

export const tryCompact = (pool: string, branch: string) =>
  json<CompactGroup[]>("POST", route`/pool/${pool}/compact/try`, { json: { branch } });
export const compactPool = (pool: string, branch: string) =>
  json<unknown>("POST", route`/pool/${pool}/compact`, { json: { branch } });

export interface LoadPreview {
  format: string;
  packing: string;
  key: string;
  fields: string[];
  rows: unknown[];
}

const PREVIEW_BYTES = 8 * 1024 * 1024;

/** What a load would make of a file. Of a text, its beginning is enough. */
export async function previewLoad(file: File, format = ""): Promise<LoadPreview> {
  const isText = /\.(ndjson|jsonl|json|csv|tsv|txt|log|xml)$/i.test(file.name);
  const body = isText && file.size > PREVIEW_BYTES / 8 ? file.slice(0, PREVIEW_BYTES / 8) : file;
  const answer = await send("POST", "/load/preview", {
    query: { name: file.name, format, rows: 10 },
    body,
    headers: { "content-type": "application/octet-stream" },
  });
  return parseExact(await answer.text()) as LoadPreview;
}

export async function loadFile(pool: string, branch: string, file: File, format: string, message: string): Promise<number> {
  const answer = await send("POST", route`/pools/${pool}/rows`, {
    query: { branch, format },
    body: file,
    headers: { "content-type": "application/octet-stream", "x-commit-message": encodeURIComponent(message) },
  });
  return ((await answer.json()) as { rows: number }).rows;
}
