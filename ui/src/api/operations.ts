import { json, jsonLines, route, send } from "./request";

export interface TaskStatus {
  task: string;
  about: string;
  schedule: string;
  last: string | null;
  due: string | null;
  state: string;
  error: string;
}

export interface GarbagePlan {
  plan: number;
  files: number;
  bytes: number;
  all_files: number;
  all_bytes: number;
  reasons: { why: string; means: string; files: number; bytes: number }[];
  prefixes: { prefix: string | null; files: number; bytes: number }[];
}

export interface GarbageStatus {
  plan: number;
  running: number;
  swept: { files: number; bytes: number } | null;
  longest_days: number;
}

export const upkeepStatus = () => json<TaskStatus[]>("GET", "/upkeep");

/** Gives what was done, a line for each thing. */
export async function runUpkeep(task: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const step of jsonLines(await send("POST", "/upkeep/run", { json: { tasks: [task] } }))) found.push(step);
  return found;
}

export const garbageStatus = (repository: string) => json<GarbageStatus>("GET", route`/repos/${repository}/gc`);
export const previewGarbage = (repository: string) => json<GarbagePlan>("POST", route`/repos/${repository}/gc/preview`, { json: {} });
export const planGarbage = (repository: string) => json<GarbagePlan>("POST", route`/repos/${repository}/gc/plan`, { json: {} });
export const sweepGarbage = (repository: string) =>
  json<{ files: number; bytes: number }>("POST", route`/repos/${repository}/gc/sweep`, { json: {} });
export const abandonGarbage = (repository: string) => send("POST", route`/repos/${repository}/gc/abandon`, { json: {} });
export interface ImportResult {
  commit: string | null;
  added: number;
  changed: number;
  removed: number;
  bytes: number;
}

export interface ImportSource {
  url: string;
  prefix: string;
}

export const tryImport = (repository: string, branch: string, source: ImportSource) =>
  json<ImportResult>("POST", route`/repos/${repository}/branches/${branch}/import/try`, { json: { sources: [source] } });
export const importFiles = (repository: string, branch: string, source: ImportSource, message: string) =>
  json<ImportResult>("POST", route`/repos/${repository}/branches/${branch}/import`, {
    json: { sources: [source], ...(message ? { options: { message } } : {}) },
  });

/** The server's own counters, in the text form of Prometheus. */
export async function metrics(): Promise<string> {
  const answer = await fetch("/_metrics", { credentials: "same-origin" });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.text();
}
