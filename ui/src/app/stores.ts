/** The places where the files of a lake lie: its own, and those of repositories that have one for themselves. */

import type { RepositoryInfo } from "../api/types";

export interface StoreInfo {
  url: string; // empty: the lake's own place is not known
  scheme: string;
  credentials: string; // the profile that opens it; empty: as the lake is opened
  own: boolean; // whether the lake itself lies there
  repositories: RepositoryInfo[];
}

const KINDS: Record<string, string> = {
  file: "a folder of the server's machine",
  s3: "S3",
  gs: "Google Cloud Storage",
  az: "Azure Blob Storage",
  abfss: "Azure Blob Storage",
};

export const kindOfStore = (scheme: string): string => KINDS[scheme] ?? scheme;
export const schemeOf = (url: string): string => /^([a-z][\w+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase() ?? "file";

/** The lake's own URL, from where one of its repositories lies: in a folder by the repository's id. */
export const lakeUrl = (namespace: string, id: string): string =>
  namespace.replace(/\/$/, "").endsWith(`/${id}`) ? namespace.replace(/\/$/, "").slice(0, -id.length - 1) : "";

/** The lake's place first, the others by their URL. */
export function storesOf(repositories: readonly RepositoryInfo[], lake: { url: string; scheme: string }): StoreInfo[] {
  const own: StoreInfo = { url: lake.url, scheme: lake.scheme, credentials: "", own: true, repositories: [] };
  const others = new Map<string, StoreInfo>();
  for (const each of repositories) {
    if (!each.storage) {
      own.repositories.push(each);
      continue;
    }
    const key = `${each.storage} ${each.credentials ?? ""}`;
    const found = others.get(key) ?? { url: each.storage, scheme: schemeOf(each.storage), credentials: each.credentials ?? "", own: false, repositories: [] };
    found.repositories.push(each);
    others.set(key, found);
  }
  return [own, ...[...others.values()].sort((left, right) => (left.url < right.url ? -1 : 1))];
}
