/** Short messages at the edge of the page: what was done, or why it was not. */

import { ApiError } from "../api/request";

export interface Notice {
  id: number;
  kind: "done" | "error";
  text: string;
  hint: string;
}

let notices = $state<Notice[]>([]);
let last = 0;
const SHOWN_MS = 6_000;

export const noticeList = {
  get all(): Notice[] {
    return notices;
  },
};

export function tell(text: string): void {
  add("done", text, "");
}

export function tellError(error: unknown): void {
  if (error instanceof ApiError) add("error", error.message, error.hint);
  else if (error instanceof DOMException && error.name === "AbortError") return;
  else add("error", error instanceof Error ? error.message : String(error), "");
}

export function dismiss(id: number): void {
  notices = notices.filter((each) => each.id !== id);
}

function add(kind: Notice["kind"], text: string, hint: string): void {
  const id = ++last;
  notices = [...notices, { id, kind, text, hint }];
  if (kind === "done") setTimeout(() => dismiss(id), SHOWN_MS);
}
