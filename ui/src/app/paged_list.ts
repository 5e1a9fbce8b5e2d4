/** A list of which only the pages around the view are held, however long it is. Pages are asked for by the cursor of the
 * one before, so a list grows as it is scrolled, and pages that were left are asked for again. */

export interface ListPage<T> {
  items: T[];
  next: string | null;
}

export class PagedList<T> {
  private readonly cursors: string[] = [""]; // of each page that is known
  private readonly starts: number[] = [0]; // the row that each page begins with
  private readonly held = new Map<number, T[]>();
  private readonly asked = new Map<number, Promise<void>>();
  private ended = false;

  constructor(
    private readonly load: (after: string) => Promise<ListPage<T>>,
    private readonly changed: () => void,
    private readonly pagesMax = 12,
  ) {}

  /** Rows that are known to be there; more may follow while it is not `whole`. */
  get count(): number {
    return this.starts[this.starts.length - 1] ?? 0;
  }

  get whole(): boolean {
    return this.ended;
  }

  row(at: number): T | undefined {
    const page = this.pageOf(at);
    return this.held.get(page)?.[at - (this.starts[page] ?? 0)];
  }

  /** Makes sure that these rows are there, or are on their way. */
  async show(first: number, last: number): Promise<void> {
    const waiting: Promise<void>[] = [];
    for (let page = this.pageOf(first); page < this.cursors.length; page += 1) {
      if ((this.starts[page] ?? 0) > last) break;
      waiting.push(this.fetch(page));
    }
    await Promise.all(waiting);
  }

  private fetch(page: number): Promise<void> {
    const before = this.asked.get(page);
    if (before) return before;
    const items = this.held.get(page);
    if (items) {
      this.held.delete(page); // what is used stays longest
      this.held.set(page, items);
      return Promise.resolve();
    }
    const work = this.load(this.cursors[page] ?? "").then(
      (found) => this.keep(page, found),
      (error: unknown) => {
        this.asked.delete(page);
        throw error;
      },
    );
    this.asked.set(page, work);
    return work;
  }

  private keep(page: number, found: ListPage<T>): void {
    this.asked.delete(page);
    this.held.set(page, found.items);
    for (const other of this.held.keys()) if (this.held.size > this.pagesMax && other !== page) this.held.delete(other);
    if (page === this.cursors.length - 1 && !this.ended) {
      this.starts[page + 1] = (this.starts[page] ?? 0) + found.items.length;
      if (found.next === null) this.ended = true;
      else this.cursors.push(found.next);
    }
    this.changed();
  }

  private pageOf(at: number): number {
    let low = 0;
    let high = this.cursors.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? Infinity) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
