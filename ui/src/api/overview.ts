import type { NameSearch } from "./repositories";
import { json, lines, route, some } from "./request";

export interface Overview {
  branch: string;
  head: string;
  date: string;
  author: string;
  message: string;
  objects: number;
  bytes: number;
  rows: number | null;
  branches: number;
  tags: number;
  commits: number[]; // on each of the last days; the last one is today
}

export interface BranchComparison {
  name: string;
  ahead: number;
  behind: number;
  objects: number;
  bytes: number;
  rows: number | null;
}

export const overview = (repository: string, days = 30) =>
  json<Overview>("GET", route`/repos/${repository}/overview`, { query: { days } });
export const compareBranches = (repository: string, limit: number, search: NameSearch = {}) =>
  some(lines<BranchComparison>(route`/repos/${repository}/comparison`, { query: { ...search } }), limit);
