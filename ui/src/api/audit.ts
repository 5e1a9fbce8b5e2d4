import { ApiError, json } from "./request";

export const OUTCOMES = ["allowed", "denied", "failed"] as const;

export interface AuditEntry {
  time: string;
  user: string; // empty: somebody who was not let in
  client: string;
  source: string;
  action: string;
  repository: string;
  ref: string;
  path: string;
  about: string;
  outcome: string;
  bytes: number;
  status: number;
  access_key: string; // the id of the key that it came by; empty: by none
}

export interface AuditPage {
  entries: AuditEntry[]; // the newest first
  next: string; // `after` of the next page; empty: there is none
}

/** Empty ones stand for all, and for the days that the server takes. */
export interface AuditFilter {
  user: string;
  repository: string;
  outcome: string;
  days: string;
}

const PAGE = 100;
const NEEDS =
  "The audit names objects of every repository. So it takes `lake:ReadEvents` on the lake, and `fs:ReadEvents` and " +
  "`fs:ReadObject` on all repositories; one of them is missing. Whoever gives policies here can give it to you. What was " +
  "done in a repository that you may read as a whole, the query `from :audit` tells you.";

export async function auditPage(filter: AuditFilter, after = ""): Promise<AuditPage> {
  try {
    return await json<AuditPage>("GET", "/audit", { query: { ...filter, limit: PAGE, after } });
  } catch (error) {
    if (error instanceof ApiError && error.kind === "refused") throw new ApiError(error.status, "You may not read the audit.", NEEDS, error.kind);
    throw error;
  }
}
