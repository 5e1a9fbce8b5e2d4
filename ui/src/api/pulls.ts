import { json, lines, route, send, some } from "./request";
import type { Change, Commit, Side } from "./types";

export interface PullSummary {
  id: string;
  title: string;
  status: "open" | "closed" | "merged";
  author: string;
  source: string;
  target: string;
  created: string;
  updated: string;
  comments: number;
  ended: string | null;
  commit: string;
  description: string | null;
}

export interface PullInfo extends PullSummary {
  head: string;
  reviewers: string[];
  reviews: { user: string; verdict: string; date: string; text: string; current: boolean; dismissed_by: string }[];
  checks: { name: string; status: string; text: string; link: string; user: string; date: string; required: boolean }[];
  threads: number;
  unmet: string[];
}

export interface PullComment {
  id: string;
  user: string;
  date: string;
  text: string;
  path: string;
  conflict: boolean;
  thread: string;
  resolved_by: string;
}

export interface PathConflict {
  path: string;
  base: Side | null;
  ours: Side | null;
  theirs: Side | null;
}

export const listPulls = (repository: string, status: string, limit: number) =>
  some(lines<PullSummary>(route`/repos/${repository}/pulls`, { query: { status } }), limit);
export const createPull = (repository: string, source: string, target: string, title: string, description: string, reviewers: string[]) =>
  json<{ name: string }>("POST", route`/repos/${repository}/pulls`, { json: { source, target, title, description, reviewers } });
export const updatePull = (repository: string, id: string, changes: { title?: string; description?: string; reviewers?: string[] }) =>
  send("PUT", route`/repos/${repository}/pulls/${id}`, { json: changes });
export const showPull = (repository: string, id: string) => json<PullInfo>("GET", route`/repos/${repository}/pulls/${id}`);
export const pullComments = (repository: string, id: string) =>
  some(lines<PullComment>(route`/repos/${repository}/pulls/${id}/comments`), 1_000);
export const pullChanges = (repository: string, id: string, after: string, limit: number) =>
  some(lines<Change>(route`/repos/${repository}/pulls/${id}/diff`, { query: { after } }), limit);
export const pullConflicts = (repository: string, id: string, limit: number) =>
  some(lines<PathConflict>(route`/repos/${repository}/pulls/${id}/conflicts`), limit);
export const commentPull = (repository: string, id: string, text: string, path: string, thread: string) =>
  send("POST", route`/repos/${repository}/pulls/${id}/comments`, { json: { text, path, thread } });
export const resolveThread = (repository: string, id: string, thread: string, on: boolean) =>
  send("POST", route`/repos/${repository}/pulls/${id}/comments/${thread}/resolve`, { json: { on } });
export const reviewPull = (repository: string, id: string, verdict: string, text: string, commit: string) =>
  send("POST", route`/repos/${repository}/pulls/${id}/reviews`, { json: { verdict, text, commit } });
export const resolvePull = (repository: string, id: string, choices: { path: string; take: string }[]) =>
  json<Commit>("POST", route`/repos/${repository}/pulls/${id}/resolve`, { json: { choices } });
export const mergePull = (repository: string, id: string, way: string) =>
  json<Commit>("POST", route`/repos/${repository}/pulls/${id}/merge`, { json: { way } });
export const endPull = (repository: string, id: string, act: "close" | "reopen") =>
  send("POST", `${route`/repos/${repository}/pulls/${id}`}/${act}`, { json: {} });
