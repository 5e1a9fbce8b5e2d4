import type { ObjectInfo, ObjectPage } from "../api/types";

/** Folders and objects of a page. Folders come first if the page is the whole folder; else everything is in the order of
 * the paths, so that pages follow each other. */
export function inOrder(page: ObjectPage, whole: boolean): (string | ObjectInfo)[] {
  const items = [...page.prefixes, ...page.objects];
  if (whole) return items;
  const path = (item: string | ObjectInfo) => (typeof item === "string" ? item : item.path);
  return items.sort((left, right) => (path(left) < path(right) ? -1 : path(left) > path(right) ? 1 : 0));
}
