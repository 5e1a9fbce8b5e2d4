/** The line of a sparkline: counts as a path in a box. */
export function sparkPath(counts: readonly number[], width: number, height: number): string {
  if (!counts.length) return "";
  const most = Math.max(1, ...counts);
  const step = counts.length > 1 ? width / (counts.length - 1) : 0;
  return counts
    .map((count, at) => `${at ? "L" : "M"}${(at * step).toFixed(1)} ${(height - 1 - (count / most) * (height - 2)).toFixed(1)}`)
    .join("");
}
