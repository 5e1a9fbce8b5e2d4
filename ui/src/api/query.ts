import { json, jsonLines, route, send } from "./request";

export interface QueryRun {
  id: string;
  engine: string;
  warnings: number;
  rows: AsyncGenerator<unknown>;
}

export interface QueryRequest {
  query: string;
  pool?: string;
  at?: string;
  limit?: number;
}

export async function runQuery(request: QueryRequest, signal: AbortSignal): Promise<QueryRun> {
  const answer = await send("POST", "/query", {
    json: request,
    headers: { accept: "application/x-ndjson" },
    signal,
  });
  return {
    id: answer.headers.get("x-query-id") ?? "",
    engine: answer.headers.get("x-query-engine") ?? "",
    warnings: Number(answer.headers.get("x-query-warnings") ?? 0),
    rows: jsonLines(answer),
  };
}

export async function exportQuery(request: QueryRequest, accept: string): Promise<Blob> {
  return (await send("POST", "/query", { json: request, headers: { accept } })).blob();
}

export interface QueryState {
  id: string;
  query: string;
  state: string;
  engine: string;
  rows: number;
  seconds: number;
  tasks?: number;
  tasks_done?: number;
  warnings?: string[];
}

export const queryState = (id: string) => json<QueryState>("GET", route`/query/${id}`);

/** The one of this text that began last and has not ended. */
export async function runningQuery(query: string): Promise<QueryState | null> {
  const { results } = await json<{ results: QueryState[] }>("GET", "/query");
  return results.filter((each) => each.query === query).at(-1) ?? null;
}

export const explain = (text: string) => json<QueryPlan>("POST", "/query/explain", { json: { text } });

export interface SavedQuery {
  name: string;
  text: string;
  changed: string;
}

export const savedQueries = () => json<SavedQuery[]>("GET", "/saved_queries");
export const saveQuery = (name: string, text: string) => send("PUT", route`/saved_queries/${name}`, { json: { text } });
export const deleteQuery = (name: string) => send("DELETE", route`/saved_queries/${name}`);

export interface QueryPlan {
  engine: string;
  sources: {
    pools: { name: string; commit: string }[];
    objects: number;
    objects_read: number;
    bytes: number;
    bytes_read: number;
    rows_read: number;
    skipped: { why: string; objects: number; bytes: number }[];
  }[];
  scans: { name: string; objects: string[]; columns: string[] }[];
  sql: string;
}
