/** The histories of several branches as one: the youngest first, and no commit above its children. */

import type { Commit } from "../api/types";

export function joined(histories: readonly (readonly Commit[])[]): Commit[] {
  const commits = new Map<string, Commit>();
  for (const each of histories.flat()) commits.set(each.id, each);
  const children = new Map<string, number>([...commits.keys()].map((id) => [id, 0]));
  for (const each of commits.values())
    for (const parent of each.parents) if (children.has(parent)) children.set(parent, (children.get(parent) ?? 0) + 1);
  const ready = [...commits.values()].filter((each) => children.get(each.id) === 0);
  const found: Commit[] = [];
  while (ready.length) {
    // Clocks may be wrong, so the date only decides among commits whose children are all above.
    ready.sort((left, right) => (left.date < right.date ? -1 : left.date > right.date ? 1 : 0));
    const next = ready.pop();
    if (!next) break;
    found.push(next);
    for (const parent of next.parents) {
      const rest = (children.get(parent) ?? 0) - 1;
      if (!children.has(parent)) continue;
      children.set(parent, rest);
      const commit = commits.get(parent);
      if (rest === 0 && commit) ready.push(commit);
    }
  }
  return found;
}
