/** Requests to the public API of the server that serves this page. The session is a cookie that scripts cannot read. */

import { parseExact } from "./exact_json";

const BASE = "/api/v1";

export type Value = string | number | boolean | null | undefined;
export type Query = Record<string, Value | readonly string[]>;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint = "",
    readonly kind = "",
    readonly details: unknown = undefined,
    readonly denied = false, // whoever asks has not the right; nothing is wrong with the session
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export interface RequestOptions {
  query?: Query;
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

let onSignedOut: () => void = () => undefined;

/** Calls `handler` when the server says that there is no session any more. */
export function whenSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/** A path below the API's base, with every part escaped: names may hold anything. An empty name is `-` there. */
export function route(parts: TemplateStringsArray, ...names: string[]): string {
  return parts.reduce((path, part, at) => {
    const name = names[at - 1] ?? "";
    return path + (name === "" ? "-" : encodeURIComponent(name)) + part;
  });
}

export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const each of value as readonly string[]) search.append(name, each);
    else if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return `${BASE}${path}${text ? `?${text}` : ""}`;
}

/** Raises ApiError for every answer that is not a success. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { ...options.headers };
  let body = options.body;
  if (options.json !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  let answer: Response;
  try {
    answer = await fetch(address(path, options.query), {
      method,
      headers,
      body,
      signal: options.signal,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not answer.", "Check that `lochan serve` is running, then try again.");
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
}

async function failure(answer: Response): Promise<ApiError> {
  if (answer.status === 401) {
    const error = await described(answer);
    // The name of what is denied may have any word in it.
    if (!error.denied && /session|anonymous/.test(error.message)) onSignedOut();
    return error;
  }
  return described(answer);
}

async function described(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  try {
    const found = JSON.parse(text) as Record<string, unknown>;
    return new ApiError(
      answer.status,
      String(found["message"] ?? text),
      typeof found["hint"] === "string" ? found["hint"] : "",
      typeof found["kind"] === "string" ? found["kind"] : "",
      found["details"],
      found["error"] === "Denied" || answer.status === 403,
    );
  } catch {
    return new ApiError(answer.status, text.trim() || `The server answered with status ${answer.status}.`);
  }
}

export async function json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const answer = await send(method, path, options);
  const text = await answer.text();
  return (text ? parseExact(text) : null) as T;
}

/** The items of an answer of one JSON value a line. One that breaks off ends with an error, never early. */
export async function* lines<T>(path: string, options: RequestOptions = {}): AsyncGenerator<T> {
  const answer = await send("GET", path, options);
  for await (const value of jsonLines(answer)) {
    const line = value as { error?: { message?: string; hint?: string; kind?: string } };
    if (line && typeof line === "object" && line.error && Object.keys(line).length === 1)
      throw new ApiError(answer.status, line.error.message ?? "The answer broke off.", line.error.hint, line.error.kind);
    yield value as T;
  }
}

export async function* jsonLines(answer: Response): AsyncGenerator<unknown> {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) if (part) yield parseExact(part);
    }
    if (rest) yield parseExact(rest);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** At most `limit` of them, and whether there are more. */
export async function some<T>(items: AsyncGenerator<T>, limit: number): Promise<{ items: T[]; more: boolean }> {
  const found: T[] = [];
  for await (const item of items) {
    if (found.length === limit) return { items: found, more: true };
    found.push(item);
  }
  return { items: found, more: false };
}

/** Sends a body and tells how far it is, which `fetch` cannot. */
export function upload(path: string, query: Query, body: Blob, progress: (share: number) => void, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address(path, query));
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 1);
    request.onerror = () => reject(new ApiError(0, "The upload broke off.", "Check the connection, then try again."));
    request.onload = () => {
      if (request.status < 300) resolve();
      else void described(new Response(request.responseText, { status: request.status })).then(reject);
    };
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(body);
  });
}
