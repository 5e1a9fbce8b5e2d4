/** Where in a query the server has found a mistake. Its messages say `line 2, column 7`. */

export interface Mark {
  line: number;
  column: number;
  message: string;
}

export function markOf(message: string): Mark | null {
  const found = /line (\d+), column (\d+)/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]), message } : null;
}

export function offsetOf(text: string, mark: Mark): number {
  const before = text.split("\n").slice(0, mark.line - 1);
  const start = before.reduce((sum, line) => sum + line.length + 1, 0);
  return Math.max(0, Math.min(start + mark.column - 1, text.length - 1));
}
