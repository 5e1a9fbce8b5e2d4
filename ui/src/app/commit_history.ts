/** Histories that are read a part at a time. What lies behind a commit never changes, so each commit is read once: a
 * further part goes on behind the last commit of the one before. */

import type { Commit } from "../api/types";

export interface HistoryPart {
  items: Commit[]; // the youngest first
  more: boolean;
}

/** Reads at most `limit` commits of the history of the commit `head`, behind the commit `after`. */
export type ReadHistory = (head: string, after: string, limit: number) => Promise<HistoryPart>;

const UNREAD = Promise.resolve<HistoryPart>({ items: [], more: true });

export class CommitHistory {
  private readonly known = new Map<string, Promise<HistoryPart>>(); // by the id of the head, so that it stays true

  constructor(private readonly read: ReadHistory) {}

  /** The first `count` commits of the history of the commit `head`, or more if they are known. */
  upTo(head: string, count: number): Promise<HistoryPart> {
    const before = this.known.get(head) ?? UNREAD;
    const longer = before.then((found) => this.extend(head, found, count)); // one request after the other
    this.known.set(
      head,
      longer.catch(() => before),
    );
    return longer;
  }

  private async extend(head: string, found: HistoryPart, count: number): Promise<HistoryPart> {
    const wanted = count - found.items.length;
    if (!found.more || wanted <= 0) return found;
    const part = await this.read(head, found.items.at(-1)?.id ?? "", wanted);
    return { items: [...found.items, ...part.items], more: part.more };
  }
}
