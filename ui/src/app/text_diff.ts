/** Which lines of two texts differ. */

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
  before: number | null; // its number on either side, from 1
  after: number | null;
}

/** A part of a long text that is the same on both sides, and is left out. */
export interface DiffGap {
  kind: "gap";
  lines: number;
}

export const LINES_MAX = 3_000;
const AROUND = 3; // lines that are shown beside a difference

/** Null for texts of too many lines, whose comparison would hold up the page. */
export function diffLines(before: string, after: string): DiffLine[] | null {
  const [left, right] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const middle = [left.slice(start, left.length - end), right.slice(start, right.length - end)] as const;
  if (middle[0].length > LINES_MAX || middle[1].length > LINES_MAX) return null;
  const found: DiffLine[] = [];
  let [old, now] = [0, 0];
  const add = (kind: DiffLine["kind"], text: string) =>
    found.push({ kind, text, before: kind === "added" ? null : ++old, after: kind === "removed" ? null : ++now });
  for (const text of left.slice(0, start)) add("same", text);
  for (const [kind, text] of changes(...middle)) add(kind, text);
  for (const text of left.slice(left.length - end)) add("same", text);
  return found;
}

/** Only what differs, with some lines around it. */
export function folded(lines: readonly DiffLine[]): (DiffLine | DiffGap)[] {
  const near = new Set<number>();
  lines.forEach((line, at) => {
    if (line.kind !== "same") for (let next = at - AROUND; next <= at + AROUND; next += 1) near.add(next);
  });
  const found: (DiffLine | DiffGap)[] = [];
  lines.forEach((line, at) => {
    const last = found.at(-1);
    if (near.has(at)) found.push(line);
    else if (last?.kind === "gap") last.lines += 1;
    else found.push({ kind: "gap", lines: 1 });
  });
  return found;
}

function linesOf(text: string): string[] {
  const found = text.split("\n");
  if (found.at(-1) === "") found.pop();
  return found;
}

/** The longest common subsequence, by a table of lengths. */
function* changes(left: readonly string[], right: readonly string[]): Generator<[DiffLine["kind"], string]> {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  for (let a = left.length - 1; a >= 0; a -= 1)
    for (let b = right.length - 1; b >= 0; b -= 1)
      lengths[a * width + b] =
        left[a] === right[b]
          ? (lengths[(a + 1) * width + b + 1] ?? 0) + 1
          : Math.max(lengths[(a + 1) * width + b] ?? 0, lengths[a * width + b + 1] ?? 0);
  let [a, b] = [0, 0];
  while (a < left.length || b < right.length) {
    if (a < left.length && b < right.length && left[a] === right[b]) {
      yield ["same", left[a] ?? ""];
      a += 1;
      b += 1;
    } else if (b >= right.length || (a < left.length && (lengths[(a + 1) * width + b] ?? 0) >= (lengths[a * width + b + 1] ?? 0)))
      yield ["removed", left[a++] ?? ""];
    else yield ["added", right[b++] ?? ""];
  }
}
