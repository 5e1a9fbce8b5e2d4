/** What verbs give back, spelled as `-f json` spells it. */

export interface Commit {
  id: string;
  parents: string[];
  author: string;
  committer: string;
  date: string;
  message: string;
  metadata: Record<string, string>;
  tree: string;
}

export interface PoolInfo {
  keys: string[];
  nulls: string;
  size: number;
  times: string[];
  primary_key: string[];
}

export interface RepositoryInfo {
  name: string;
  id: string;
  kind: "files" | "pool";
  default_branch: string;
  created: string;
  created_by: string;
  metadata: Record<string, string>;
  pool?: PoolInfo;
  storage?: string; // the URL of a place of its own; absent: it lies in the lake
  credentials?: string; // the profile that opens it
}

export interface BranchInfo {
  name: string;
  head: string;
  default: boolean;
  staged: boolean;
  date: string;
  message: string;
}

export interface TagInfo {
  name: string;
  commit: string;
  date: string;
  message: string;
}

export interface ObjectInfo {
  path: string;
  size: number;
  mtime: string;
  checksum: string;
  etag: string;
  content_type: string;
  metadata: Record<string, string>;
}

export interface ObjectPage {
  objects: ObjectInfo[];
  prefixes: string[];
  next: string | null;
}

export interface ObjectDetails {
  info: ObjectInfo;
  headers: Record<string, string>;
  blocks: { address: string; offset: number; size: number; sha256: string }[];
}

export interface Side {
  size: number;
  checksum: string;
}

export type ChangeKind = "added" | "removed" | "changed";

export interface Change {
  path: string;
  kind: ChangeKind;
  left: Side | null;
  right: Side | null;
}

export interface StagedChange {
  path: string;
  kind: ChangeKind;
  size: number;
}

export interface ChangeCount {
  added: number;
  removed: number;
  changed: number;
  bytes_added: number;
  bytes_removed: number;
}

export interface PoolSummary {
  branch: string;
  head: string;
  objects: number;
  rows: number;
  bytes: number;
  min: unknown;
  max: unknown;
  keyless: number;
}

export interface EventLine {
  repository: string;
  time: string;
  type: string;
  user: string;
  [field: string]: unknown;
}

export interface JobInfo {
  id: string;
  kind: string;
  about: string;
  state: string;
  done: number;
  total: number;
  rows: number | null;
  started: string;
  ended: string | null;
  user: string;
  error: string;
  log: { time: string; text: string }[];
}

export interface UserInfo {
  name: string;
  disabled: boolean;
  groups: string[];
  created: string;
  policies: string[];
}

export interface KeyInfo {
  access_key_id: string;
  user: string;
  created: string;
  created_by: string;
}

export interface NewKey {
  user: string;
  access_key_id: string;
  secret_access_key: string;
}

export interface PolicyInfo {
  name: string;
  [field: string]: unknown;
}
