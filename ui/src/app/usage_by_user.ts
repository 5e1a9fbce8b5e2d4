/** How much each user has used the lake, of rows that are counted by user, repository and day. */

export interface RepositoryUse {
  name: string; // empty: the lake itself
  requests: number;
  bytes: number;
}

export interface UserUse {
  user: string;
  requests: number;
  bytes: number;
  failed: number;
  last: string;
  days: number[]; // requests on each day; the last one is today
  repositories: RepositoryUse[]; // the most used first
}

const DAY_MS = 86_400_000;
const dayOf = (time: number): number => Math.floor(time / DAY_MS);

/** The day on which a period of so many days begins that ends today. */
export const firstDay = (days: number, now: number): string =>
  new Date((dayOf(now) - days + 1) * DAY_MS).toISOString().replace(".000Z", "Z");

export const usageQuery = (since: string): string =>
  `from :usage\n| where time >= ${since}\n| requests := count(), bytes := sum(bytes), failed := count() where status >= 400, last := max(time) by user, repository, day := bucket(time, 1d)`;

export function usageByUser(rows: readonly Record<string, unknown>[], days: number, now: number): UserUse[] {
  const found = new Map<string, UserUse>();
  for (const row of rows) {
    const name = String(row["user"] ?? "");
    const use = found.get(name) ?? { user: name, requests: 0, bytes: 0, failed: 0, last: "", days: new Array<number>(days).fill(0), repositories: [] };
    found.set(name, use);
    const [requests, bytes] = [Number(row["requests"] ?? 0), Number(row["bytes"] ?? 0)];
    use.requests += requests;
    use.bytes += bytes;
    use.failed += Number(row["failed"] ?? 0);
    use.last = [use.last, String(row["last"] ?? "")].sort()[1] ?? "";
    const at = days - 1 - (dayOf(now) - dayOf(Date.parse(String(row["day"]))));
    if (at >= 0 && at < days) use.days[at] = (use.days[at] ?? 0) + requests;
    const repository = String(row["repository"] ?? "");
    const known = use.repositories.find((each) => each.name === repository);
    if (known) {
      known.requests += requests;
      known.bytes += bytes;
    } else use.repositories.push({ name: repository, requests, bytes });
  }
  for (const use of found.values()) use.repositories.sort((left, right) => right.requests - left.requests);
  return [...found.values()].sort((left, right) => right.requests - left.requests);
}
