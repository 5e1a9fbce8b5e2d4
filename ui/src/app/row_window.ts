/** Which rows of a long list are in the page, and how much room stands for those above and below them.
 *
 * Browsers lay nothing out beyond some 33 million pixels. In a longer list a step of the scroll bar stands for
 * more than a row, so that its end can still be reached. */

export const PIXELS_MAX = 20_000_000;

export interface View {
  top: number; // how far it is scrolled
  height: number;
  count: number; // rows in all
  row: number; // pixels
  beyond: number; // rows above and below that are there too
}

export function windowOf({ top, height, count, row, beyond }: View) {
  const total = Math.min(count * row, PIXELS_MAX);
  const scale = total ? (count * row) / total : 1;
  const seen = Math.floor((top * scale) / row);
  const first = Math.max(0, seen - beyond);
  const last = seen + Math.ceil(height / row) + beyond;
  const above = scale === 1 ? first * row : Math.max(0, top - (seen - first) * row);
  const shown = Math.max(0, Math.min(last, count) - first);
  return { first, last, above, below: Math.max(0, total - above - shown * row) };
}
