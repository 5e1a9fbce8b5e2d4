/** Words of the query language, for colours and completion. The server alone decides what a query means. */

import type { StringStream } from "@codemirror/language";
import WORDS from "./query_functions.json";

const list = (text: string): string[] => text.split(" ");

/** Words that begin a step which is no filter. */
const STEP_WORDS = list(
  "aggregate anti by cut drop fork from fuse head inner join left load over pass put rename right sample select sort summarize switch tail top union uniq unnest values yield",
);
export const STEPS = new Set(STEP_WORDS);
const CONNECTING = list(
  "and as asc between case default desc distinct every false first group having in is last like limit not null nulls offset on or order range search tap this true where with",
);
export const OPERATORS = [...new Set([...STEP_WORDS, ...CONNECTING])].sort();
export const FUNCTIONS = Object.keys(WORDS.functions);
export const AGGREGATES = Object.keys(WORDS.aggregates);

/** How a function is called, and what it gives. */
export function signature(name: string): [string, string] | undefined {
  const all: Record<string, string[]> = { ...WORDS.functions, ...WORDS.aggregates };
  const found = all[name];
  return found && [found[0] ?? "", found[1] ?? ""];
}

/** The pools that a query reads: what follows its words `from`, `join` and `union`, without their refs. */
export function poolsIn(query: string): string[] {
  const found = [...query.matchAll(/\bfrom\s+([A-Za-z0-9][\w-]*)/gi)].map((each) => each[1] ?? "");
  return [...new Set(found)];
}

const OPERATOR_WORDS = new Set(OPERATORS);
const CALLS = new Set([...FUNCTIONS, ...AGGREGATES]);

export function tokenOf(stream: StringStream): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match("--")) {
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match("/*")) {
    while (!stream.match("*/") && stream.next());
    return "comment";
  }
  const quote = stream.match(/^["']/) as RegExpMatchArray | null;
  if (quote) {
    let letter = stream.next();
    while (letter && letter !== quote[0]) {
      if (letter === "\\") stream.next();
      letter = stream.next();
    }
    return "string";
  }
  if (stream.match(/^\d[\w.:+-]*/)) return "number";
  const word = stream.match(/^[A-Za-z_][\w]*/) as RegExpMatchArray | null;
  if (word) {
    const text = word[0].toLowerCase();
    if (CALLS.has(text) && stream.peek() === "(") return "variableName.function";
    return OPERATOR_WORDS.has(text) ? "keyword" : null;
  }
  stream.next();
  return null;
}
