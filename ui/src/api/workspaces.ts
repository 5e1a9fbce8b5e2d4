/** A workspace is a private layer over a branch. It is read and written as a ref, `branch+id`. */

import { json, lines, route, send, some } from "./request";
import type { ChangeKind, Commit } from "./types";

export interface WorkspaceChange {
  path: string;
  kind: ChangeKind;
  before: number | null;
  after: number | null;
  added: boolean;
}

export interface WorkspaceInfo {
  id: string;
  branch: string;
  ref: string;
  user: string;
  date: string;
  note: string;
}

export const listWorkspaces = (repository: string) =>
  some(lines<WorkspaceInfo>(route`/repos/${repository}/workspaces`), 1_000);
export const openWorkspace = async (repository: string, branch: string) =>
  (await json<{ name: string }>("POST", route`/repos/${repository}/branches/${branch}/workspaces`, { json: { note: "web page" } }))
    .name;
export const workspaceChanges = (repository: string, name: string, after: string, limit: number) =>
  some(lines<WorkspaceChange>(route`/repos/${repository}/workspaces/${name}/changes`, { query: { after } }), limit);
export const commitWorkspace = (repository: string, name: string, message: string, paths: string[]) =>
  json<Commit>("POST", route`/repos/${repository}/workspaces/${name}/commits`, {
    json: paths.length ? { message, paths } : { message, added: false },
  });
export const revertWorkspace = (repository: string, name: string, globs: string[]) =>
  send("POST", route`/repos/${repository}/workspaces/${name}/revert`, { json: { globs } });
export const dropWorkspace = (repository: string, name: string) =>
  send("DELETE", route`/repos/${repository}/workspaces/${name}`);
