import type { Commit, ObjectInfo, ObjectPage } from "../api/types";

/** Folders and objects of a page. Folders come first if the page is the whole folder; else everything is in the order of
 * the paths, so that pages follow each other. */
export function inOrder(page: ObjectPage, whole: boolean): (string | ObjectInfo)[] {
  const items = [...page.prefixes, ...page.objects];
  if (whole) return items;
  const path = (item: string | ObjectInfo) => (typeof item === "string" ? item : item.path);
  return items.sort((left, right) => (path(left) < path(right) ? -1 : path(left) > path(right) ? 1 : 0));
}

/** The commit of each object right below the prefix, and of each folder there: the newest of what is in it. */
export function latest(blames: readonly { path: string; commit: Commit }[], prefix: string): Record<string, Commit> {
  const found: Record<string, Commit> = {};
  for (const { path, commit } of blames) {
    const end = path.indexOf("/", prefix.length);
    const entry = end < 0 ? path : path.slice(0, end + 1);
    const before = found[entry];
    if (!before || before.date < commit.date) found[entry] = commit;
  }
  return found;
}
