/** The documentation, built into the page: help works without the internet. A page is loaded when it is opened, and all
 * of them when somebody searches. */

import { type DocsSection, sectionsOf } from "./docs_search";

const FILES = import.meta.glob<string>("../../../docs/**/*.md", { query: "?raw", import: "default" });
const HEADINGS = import.meta.glob<string>("../../../docs/**/*.md", { query: "?title", import: "default", eager: true });
const nameOf = (path: string) => path.replace("../../../docs/", "").replace(/\.md$/, "");
const TITLES = Object.fromEntries(Object.entries(HEADINGS).map(([path, heading]) => [nameOf(path), heading]));
const PAGES = Object.fromEntries(Object.entries(FILES).map(([path, load]) => [nameOf(path), load]));

/** Of pages; the last one is that of pages outside of a folder. */
export const FOLDERS: readonly (readonly [string, string])[] = [
  ["language", "Query language"],
  ["operations", "Using and running it"],
  ["api", "Programming"],
  ["formats", "Files on the store"],
  ["design", "Why it is built so"],
  ["", "More"],
];

export const docsTitle = (page: string): string => TITLES[page] ?? page;

/** Nothing, if there is no such page. */
export const loadDocs = async (page: string): Promise<string> => (await PAGES[page]?.()) ?? "";

const folderOf = (page: string) => page.slice(0, Math.max(0, page.indexOf("/")));

/** Those of a folder: design notes in their order, others by their titles. */
export const docsOf = (folder: string): string[] =>
  Object.keys(PAGES)
    .filter((each) => folderOf(each) === folder)
    .sort((left, right) => (folder === "design" ? left.localeCompare(right) : docsTitle(left).localeCompare(docsTitle(right))));

export const docsPages = (): string[] => Object.keys(PAGES);

/** Where a link of a page leads. Those to the source of the program lead nowhere from here. */
export function docsLink(page: string, to: string): string | null {
  if (/^https?:/.test(to)) return to;
  if (to.startsWith("#")) return `/docs/${page}${to}`;
  const [file = "", anchor] = to.split("#");
  const path = new URL(file, `http://docs/${page}`).pathname.slice(1).replace(/\.md$/, "");
  return PAGES[path] ? `/docs/${path}${anchor ? `#${anchor}` : ""}` : null;
}

let sections: Promise<DocsSection[]> | null = null;

export function docsSections(): Promise<DocsSection[]> {
  sections ??= Promise.all(Object.entries(PAGES).map(async ([page, load]) => sectionsOf(page, docsTitle(page), await load()))).then(
    (found) => found.flat(),
    (error: unknown) => {
      sections = null; // so that it can be tried again
      throw error;
    },
  );
  return sections;
}
