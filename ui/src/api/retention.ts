import { json, route } from "./request";

export interface KeepRule {
  pattern: string;
  days: number;
  commits: number;
  forever: boolean;
}

export interface DropRule {
  pattern: string;
  name?: string; // empty: the rule as it is written
  prefix: string;
  low: string; // of a pool's key; both ends are inside
  high: string;
  unwritten_days: number;
  unread_days: number;
  older_days: number;
  never: boolean;
}

export interface Retention {
  rules: KeepRule[];
  drops: DropRule[];
  holds: string[];
  undo_days: number;
  uploads_days: number;
  workspaces_days: number;
  stashes_days: number;
  blocks_days: number;
  readers: string;
}

/** What rules would do at this moment. */
export interface RetentionCheck {
  commits: string[];
  drops: { branch: string; rule: string; objects: number; bytes: number; examples: string[]; waits: string }[];
  warnings: string[];
}

export const retentionRules = (repository: string) =>
  json<Retention & { source?: string }>("GET", route`/repos/${repository}/gc/rules`);
export const setRetentionRules = (repository: string, rules: unknown) =>
  json<Retention>("PUT", route`/repos/${repository}/gc/rules`, { json: { rules } });
export const checkRetention = (repository: string, rules: Retention) =>
  json<RetentionCheck>("POST", route`/repos/${repository}/gc/rules/check`, { json: { rules } });
