/** Keys of the page, as they are listed for people. */

const PLACES: Record<string, [string, string]> = {
  d: ["/", "data"],
  q: ["/query", "query"],
  e: ["/events", "events"],
  o: ["/operations", "operations"],
  a: ["/access", "access"],
  h: ["/docs", "help"],
};

export const goShortcut = (key: string): string | undefined => PLACES[key]?.[0];

export const SHORTCUTS: [string, string][] = [
  ["Ctrl K", "go to a repository, a pool, a branch or a view, or do something"],
  ...Object.entries(PLACES).map(([key, [, name]]): [string, string] => [`g ${key}`, `go to ${name}`]),
  ["/", "search, or the editor"],
  ["Ctrl ⏎", "run the query"],
  ["?", "this list"],
];
