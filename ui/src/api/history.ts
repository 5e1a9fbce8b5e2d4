import { json, lines, route, send, some } from "./request";
import type { Change, ChangeCount, Commit } from "./types";

export interface LogFilter {
  path?: string;
  prefix?: string;
  author?: string;
  grep?: string;
  since?: string;
  until?: string;
  after?: string; // only behind this commit, which is one of the log
}

export const log = (repository: string, ref: string, limit: number, filter: LogFilter = {}) =>
  some(
    lines<Commit>(route`/repos/${repository}/refs/${ref}/commits`, {
      query: { ...filter },
    }),
    limit,
  );
export interface DiffRange {
  prefix?: string;
  after?: string; // only behind this path
  threeDot?: boolean; // only what the right has changed since the two parted
}

export const diff = (repository: string, left: string, right: string, limit: number, range: DiffRange = {}) =>
  some(
    lines<Change>(route`/repos/${repository}/refs/${left}/diff/${right}`, {
      query: { prefix: range.prefix, after: range.after, three_dot: range.threeDot ?? false },
    }),
    limit,
  );
export const diffCount = (repository: string, left: string, right: string, prefix: string, threeDot: boolean) =>
  json<ChangeCount>("GET", route`/repos/${repository}/refs/${left}/diff/${right}/count`, {
    query: { prefix, three_dot: threeDot },
  });
export const diffFolders = (repository: string, left: string, right: string, prefix: string, threeDot: boolean) =>
  json<Record<string, ChangeCount>>("GET", route`/repos/${repository}/refs/${left}/diff/${right}/folders`, {
    query: { prefix, three_dot: threeDot },
  });
export const mergeBase = (repository: string, left: string, right: string) =>
  json<Commit | null>("GET", route`/repos/${repository}/merge_base`, { query: { left, right } });
export const blame = (repository: string, ref: string, path: string) =>
  json<Commit>("GET", route`/repos/${repository}/refs/${ref}/blame`, { query: { path } });

export const merge = (repository: string, into: string, source: string, message: string) =>
  json<Commit>("POST", route`/repos/${repository}/branches/${into}/merge`, {
    json: message ? { source, options: { message } } : { source },
  });
export const revert = (repository: string, branch: string, ref: string) =>
  send("POST", route`/repos/${repository}/branches/${branch}/revert`, { json: { ref } });
export const cherryPick = (repository: string, branch: string, ref: string) =>
  send("POST", route`/repos/${repository}/branches/${branch}/cherry_pick`, { json: { ref } });

export interface RowChange {
  change: "added" | "removed" | "changed";
  times: number;
  key: unknown;
  before: unknown;
  after: unknown;
}

export interface RowDifference {
  added: number;
  removed: number;
  changed: number;
  rows: RowChange[];
}

/** Rows that differ between two tables, such as `shop@main/raw/fruit.csv` or `logs@dev`. */
export const diffRows = (left: string, right: string, on: string[], sample: number, threeDot: boolean) =>
  json<RowDifference>("POST", "/query/diff", {
    json: { left, right, sample, three_dot: threeDot, ...(on.length ? { on } : {}) },
    headers: { accept: "application/json" },
  });

export interface Blame {
  path: string;
  commit: Commit;
}

export const blameFolder = (repository: string, ref: string, prefix: string, limit: number) =>
  some(lines<Blame>(route`/repos/${repository}/refs/${ref}/blame/folder`, { query: { prefix } }), limit);
