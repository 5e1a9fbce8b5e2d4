/** Server-sent events whose types are not known beforehand, which the browser's own reader cannot follow. */

import { ApiError, type Query, send } from "./request";

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 30_000;

/** Every event from `path` on, again from the last one whenever the connection ends. Returns what stops it. */
export function followStream(
  path: string,
  query: Query,
  listener: (event: ServerEvent) => void,
  failed: (error: unknown) => void,
): () => void {
  const stop = new AbortController();
  void follow(path, query, listener, failed, stop.signal);
  return () => stop.abort();
}

async function follow(
  path: string,
  query: Query,
  listener: (event: ServerEvent) => void,
  failed: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = "";
  let pause = PAUSE_MS;
  while (!signal.aborted) {
    try {
      const answer = await send("GET", path, {
        query: last ? { ...query, last: undefined, after: last } : query,
        headers: { accept: "text/event-stream" },
        signal,
      });
      for await (const event of serverEvents(answer)) {
        if (event.type === "error") throw new ApiError(410, (JSON.parse(event.data) as { message: string }).message);
        last = event.id || last;
        pause = PAUSE_MS;
        listener(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) return failed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, PAUSE_MS_MAX);
  }
}

export async function* serverEvents(answer: Response): AsyncGenerator<ServerEvent> {
  if (!answer.body) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parsed(block);
        if (event.data) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): ServerEvent {
  const event = { id: "", type: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.startsWith("id:")) event.id = value;
    else if (line.startsWith("event:")) event.type = value;
    else if (line.startsWith("data:")) event.data += (event.data && "\n") + value;
  }
  return event;
}
