import { expect, test } from "vitest";
import { docsLink, docsOf, docsPages, docsTitle, FOLDERS, loadDocs } from "./docs";
import { findInDocs, sectionsOf } from "./docs_search";
import { blocks, headingId, type Inline } from "./markdown";

const TEXT = "# Keep\n\nAbove `all`.\n\n## How [long](x.md)\n\nDays | and\n\n```sh\n# no heading\nlochan gc\n```\n\n## Last\n\nNothing.\n";

test("a page is taken apart at its headings, not at comments in code", () => {
  const found = sectionsOf("operations/keep", "Keep", TEXT);
  expect(found.map((each) => [each.heading, each.text])).toEqual([
    ["", "Above all ."],
    ["How long", "Days and # no heading lochan gc"],
    ["Last", "Nothing."],
  ]);
});

test("every word must be in a section, and titles count more than texts", () => {
  const sections = [...sectionsOf("a", "Other", "Keep days for ever. More days."), ...sectionsOf("b", "Keep days", "Nothing.")];
  expect(findInDocs(sections, "keep DAYS", 9).map(({ section }) => section.page)).toEqual(["b", "a"]);
  expect(findInDocs(sections, "keep weeks", 9)).toEqual([]);
  expect(findInDocs(sections, " ", 9)).toEqual([]);
  const marked = findInDocs(sections, "days (", 9);
  expect(marked).toEqual([]); // what means something in a pattern is a text
  expect(findInDocs(sections, "ever.", 9)[0]?.excerpt.filter((each) => each.found)).toEqual([{ text: "ever.", found: true }]);
});

test("all of the documentation is in the page, in some folder", () => {
  const listed = FOLDERS.flatMap(([folder]) => docsOf(folder));
  expect(listed.sort()).toEqual(docsPages().sort());
  for (const page of ["operations/page", "formats/tree", "design/0001-journal", "architecture", "api/rest"]) expect(listed).toContain(page);
  for (const page of listed) expect(docsTitle(page)).not.toBe(page);
});

test("every link within the documentation leads to a page and a heading that are there", async () => {
  const broken: string[] = [];
  const ids = new Map<string, Set<string>>();
  const links: [string, string][] = [];
  for (const page of docsPages()) {
    const found = blocks(await loadDocs(page));
    ids.set(page, new Set(found.flatMap((each) => (each.kind === "heading" ? [each.id] : []))));
    for (const block of found) {
      const parts: Inline[] =
        block.kind === "list" ? block.items.flat() : block.kind === "table" ? [...block.head.flat(), ...block.rows.flat(2)] : "text" in block && Array.isArray(block.text) ? block.text : [];
      for (const part of parts) if (part.kind === "link") links.push([page, part.to]);
    }
  }
  for (const [page, to] of links) {
    const place = docsLink(page, to);
    if (place === null) {
      if (/\.md(#|$)/.test(to) && !/^(\.\.\/)+(README|CHANGELOG|CONTRIBUTING|bench)/.test(to)) broken.push(`${page}: ${to}`);
      continue;
    }
    const [path = "", id = ""] = place.replace("/docs/", "").split("#");
    if (place.startsWith("/docs/") && id && !ids.get(path)?.has(id)) broken.push(`${page}: ${to}`);
  }
  expect(broken).toEqual([]);
  expect(links.length).toBeGreaterThan(300);
});

test("a heading is named as its links name it", () => {
  expect(headingId("What `gc` does, and why")).toBe("what-gc-does-and-why");
});
