import { json, lines, route, send, some } from "./request";
import type { BranchInfo, Commit, RepositoryInfo, TagInfo } from "./types";

const MANY = 1_000;

/** Which names of a list are wanted; the server looks through all of them. */
export interface NameSearch {
  prefix?: string;
  contains?: string; // anywhere in the name, in any case
  after?: string; // the list goes on behind this name
}

export type RepositoryKind = RepositoryInfo["kind"];

/** By name. Of one kind only: pools have a list of their own; repositories of files are picked out as they come. */
export function listRepositories(limit = MANY, search: NameSearch = {}, kind: RepositoryKind | "" = "") {
  const found = lines<RepositoryInfo>(kind === "pool" ? "/pool" : "/repos", { query: { ...search } });
  return some(kind === "files" ? ofFiles(found) : found, limit);
}

async function* ofFiles(found: AsyncGenerator<RepositoryInfo>): AsyncGenerator<RepositoryInfo> {
  for await (const each of found) if (each.kind === "files") yield each;
}

/** The one of this name, or null if there is none: for names that may be gone, or are half typed. */
export async function findRepository(name: string, kind: RepositoryKind | "" = ""): Promise<RepositoryInfo | null> {
  const [first] = (await listRepositories(1, { prefix: name }, kind)).items; // a name comes before those that are longer
  return first?.name === name ? first : null;
}

const asked = new Map<string, Promise<RepositoryInfo>>();

/** Several parts of a view ask at once; one request answers them all. */
export function getRepository(name: string): Promise<RepositoryInfo> {
  const found = asked.get(name) ?? json<RepositoryInfo>("GET", route`/repos/${name}`).finally(() => asked.delete(name));
  asked.set(name, found);
  return found;
}

export const createRepository = (name: string) => send("POST", "/repos", { json: { name } });
export const createPool = (name: string, key: string[]) =>
  send("POST", "/pool", { json: key.length ? { name, key } : { name } });
export interface DeletedInfo {
  name: string;
  id: string;
  kind: string;
  deleted: string;
  deleted_by: string;
  until: string | null; // it can be restored until then
}

export const deletedRepositories = (limit: number) => some(lines<DeletedInfo>("/deleted"), limit);
export const restoreRepository = (id: string) => send("POST", route`/deleted/${id}/restore`, { json: {} });
export const deleteRepository = (name: string) => send("DELETE", route`/repos/${name}`);

export const listBranches = (repository: string, limit = MANY, search: NameSearch = {}) =>
  some(lines<BranchInfo>(route`/repos/${repository}/branches`, { query: { ...search } }), limit);
export const createBranch = (repository: string, name: string, source: string) =>
  send("POST", route`/repos/${repository}/branches`, { json: { name, source } });
export const deleteBranch = (repository: string, name: string) =>
  send("DELETE", route`/repos/${repository}/branches/${name}`);

/** The last one of that name that was deleted. */
export const restoreBranch = (repository: string, name: string) =>
  send("POST", route`/repos/${repository}/branches/${name}/restore`, { json: {} });

export const listTags = (repository: string, limit = MANY, search: NameSearch = {}) =>
  some(lines<TagInfo>(route`/repos/${repository}/tags`, { query: { ...search } }), limit);
export const createTag = (repository: string, name: string, target: string) =>
  send("POST", route`/repos/${repository}/tags`, { json: { name, target } });
export const deleteTag = (repository: string, name: string) => send("DELETE", route`/repos/${repository}/tags/${name}`);

export const resolve = (repository: string, ref: string) => json<Commit>("GET", route`/repos/${repository}/refs/${ref}`);

export interface ProtectionRule {
  pattern: string;
  blocked: string[];
  mergers: string[];
  linear: boolean;
  pull?: boolean;
  approvals?: number;
  checks?: string[];
}

export const protections = (repository: string) => json<ProtectionRule[]>("GET", route`/repos/${repository}/protections`);
export const protect = (repository: string, rule: ProtectionRule) =>
  send("POST", route`/repos/${repository}/protections`, { json: rule });
export const unprotect = (repository: string, pattern: string) =>
  send("DELETE", route`/repos/${repository}/protections`, { query: { pattern } });
