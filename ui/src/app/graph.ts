/** Lanes of a commit graph: which column each commit stands in, and the lines that lead down to its parents. */

import type { Commit } from "../api/types";

export interface GraphRow {
  lane: number;
  lanes: number; // how many there are beside this row
  through: number[]; // lanes that pass by
  down: number[]; // lanes that its parents are in, below it
  joins: number[]; // lanes that end in this commit, from above
}

export function graph(commits: readonly Pick<Commit, "id" | "parents">[]): GraphRow[] {
  const lanes: (string | null)[] = []; // the commit that each lane leads to
  return commits.map(({ id, parents }) => {
    const joins = lanes.flatMap((waiting, lane) => (waiting === id ? [lane] : []));
    const lane = joins[0] ?? free(lanes);
    for (const each of joins) lanes[each] = null;
    const through = lanes.flatMap((waiting, at) => (waiting !== null && waiting !== undefined ? [at] : []));
    const down = parents.map((parent, at) => {
      const known = lanes.indexOf(parent);
      // A history goes straight down in its own lane: one further right that leads to the same parent joins it there.
      if (known >= 0 && (at > 0 || known < lane)) return known;
      const taken = at === 0 ? lane : free(lanes);
      lanes[taken] = parent;
      return taken;
    });
    while (lanes.length && lanes.at(-1) === null) lanes.pop();
    return { lane, lanes: Math.max(lane + 1, lanes.length, ...joins.map((each) => each + 1)), through, down, joins };
  });
}

function free(lanes: (string | null)[]): number {
  const found = lanes.indexOf(null);
  if (found >= 0) return found;
  lanes.push(null);
  return lanes.length - 1;
}
