import { json, lines, route, some } from "./request";

export interface HookInfo {
  file: string;
  name: string;
  id: string;
  kind: string;
  events: string[];
  about: string;
}

export interface HookResult {
  file: string;
  name: string;
  hook: string;
  kind: string;
  state: string;
  reason: string;
  output: string;
  started: string;
  ended: string;
}

export interface HookRun {
  id: string;
  event: string;
  state: string;
  branch: string;
  user: string;
  started: string;
  ended: string;
  manual: boolean;
  results: HookResult[];
}

export const listHooks = (repository: string, branch: string) =>
  some(lines<HookInfo>(route`/repos/${repository}/hooks`, { query: { branch } }), 1_000);
export const hookRuns = (repository: string, limit: number) =>
  some(lines<HookRun>(route`/repos/${repository}/hooks/runs`), limit);
export const checkHooks = (repository: string, text: string) =>
  json<HookInfo[]>("POST", route`/repos/${repository}/hooks/check`, { json: { text } });
export const runHooks = (repository: string, event: string, branch: string, dry_run: boolean) =>
  json<HookRun>("POST", route`/repos/${repository}/hooks/run`, { json: { event, branch, dry_run } });
