/** Queries that were run in this browser, the newest first. */

const KEY = "lochan.queries";
const KEPT = 50;

export function pastQueries(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((each): each is string => typeof each === "string") : [];
  } catch {
    return [];
  }
}

export function remember(query: string): void {
  const others = pastQueries().filter((each) => each !== query);
  localStorage.setItem(KEY, JSON.stringify([query, ...others].slice(0, KEPT)));
}
