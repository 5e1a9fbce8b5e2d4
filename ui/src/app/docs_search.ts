/** A search in the whole text of the documentation: the sections that hold every word, the best first. */

import { headingId } from "./markdown";

export interface DocsSection {
  page: string;
  title: string; // of the page
  heading: string; // empty: what is above the first one
  id: string; // of the heading
  text: string;
}

export interface DocsHit {
  section: DocsSection;
  excerpt: { text: string; found: boolean }[];
}

const AROUND = 90; // characters before and behind the first word that was found
const plain = (line: string) =>
  line
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\|?[\s:|-]+$/, "")
    .replace(/[`*|]/g, " ");

/** What a page says below each of its headings. Lines of code that begin with `#` are no headings. */
export function sectionsOf(page: string, title: string, text: string): DocsSection[] {
  const found: DocsSection[] = [{ page, title, heading: "", id: "", text: "" }];
  let inCode = false;
  for (const line of text.split("\n")) {
    if (line.trimStart().startsWith("```")) {
      inCode = !inCode;
      continue;
    }
    const heading = inCode ? null : /^#{2,6}\s+(.*)$/.exec(line);
    if (heading) {
      const words = heading[1] ?? "";
      found.push({ page, title, heading: plain(words).replace(/\s+/g, " ").trim(), id: headingId(words), text: "" });
    } else if (inCode || !line.startsWith("# ")) {
      const last = found[found.length - 1];
      if (last) last.text += `${inCode ? line : plain(line)} `;
    }
  }
  return found.map((each) => ({ ...each, text: each.text.replace(/\s+/g, " ").trim() }));
}

export function findInDocs(sections: readonly DocsSection[], asked: string, limit: number): DocsHit[] {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const rated: [number, DocsSection][] = [];
  for (const section of sections) {
    const [title, heading, text] = [section.title, section.heading, section.text].map((each) => each.toLowerCase());
    if (!words.every((word) => title?.includes(word) || heading?.includes(word) || text?.includes(word))) continue;
    if (section.heading && words.every((word) => title?.includes(word))) continue; // the page itself is found
    const rate = words.reduce((sum, word) => sum + (title?.includes(word) ? 4 : 0) + (heading?.includes(word) ? 3 : 0) + (text?.includes(word) ? 1 : 0), 0);
    rated.push([rate, section]);
  }
  rated.sort(([left], [right]) => right - left);
  return rated.slice(0, limit).map(([, section]) => ({ section, excerpt: excerptOf(section.text, words) }));
}

function excerptOf(text: string, words: readonly string[]): DocsHit["excerpt"] {
  const low = text.toLowerCase();
  const places = words.map((word) => low.indexOf(word)).filter((at) => at >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const begin = first > AROUND ? low.indexOf(" ", first - AROUND) + 1 : 0;
  const shown = text.slice(begin, first + 2 * AROUND);
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  const parts = shown.split(new RegExp(pattern, "gi")).map((each) => ({ text: each, found: pattern.test(each) }));
  return [...(begin ? [{ text: "… ", found: false }] : []), ...parts.filter((each) => each.text), ...(first + 2 * AROUND < text.length ? [{ text: " …", found: false }] : [])];
}
