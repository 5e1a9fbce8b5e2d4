/** Markdown as data. It is shown by components and never as HTML, so a document can hold anything. */

export type Inline =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; to: string };

export type Block =
  | { kind: "heading"; level: number; text: Inline[]; id: string }
  | { kind: "paragraph" | "quote"; text: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const INLINE = /(`+)(.+?)\1|!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)|\*\*(.+?)\*\*|\*([^*\s][^*]*?)\*|\b_([^_]+)_\b/;

export function inline(text: string): Inline[] {
  const found: Inline[] = [];
  let rest = text;
  while (rest) {
    const match = INLINE.exec(rest);
    if (!match) break;
    if (match.index) found.push({ kind: "text", text: rest.slice(0, match.index) });
    if (match[2] !== undefined) found.push({ kind: "code", text: match[2].trim() });
    else if (match[4] !== undefined) {
      if (match[0].startsWith("!")) found.push({ kind: "em", text: match[3] ?? "" });
      else found.push({ kind: "link", text: (match[3] ?? "").replaceAll("`", ""), to: match[4] });
    } else if (match[5] !== undefined) found.push({ kind: "strong", text: match[5].replaceAll("`", "") });
    else found.push({ kind: "em", text: match[6] ?? match[7] ?? "" });
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest) found.push({ kind: "text", text: rest });
  return found;
}

/** A message in which only code is marked: everything else in it may be somebody's name, and stays as it is. */
export const codeParts = (text: string): Inline[] =>
  text
    .split(/`([^`]+)`/)
    .map((part, at): Inline => ({ kind: at % 2 ? "code" : "text", text: part }))
    .filter((part) => part.text);

export const headingId = (text: string): string =>
  text.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");

const cells = (line: string): Inline[][] =>
  line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((each) => inline(each.trim().replaceAll("\\|", "|")));

export function blocks(text: string): Block[] {
  const found: Block[] = [];
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  let at = 0;
  const line = () => lines[at] ?? "";
  const gather = (goes: (text: string) => boolean): string[] => {
    const taken: string[] = [];
    while (at < lines.length && goes(line())) taken.push(lines[at++] ?? "");
    return taken;
  };
  while (at < lines.length) {
    const heading = /^(#{1,6})\s+(.*)$/.exec(line());
    if (!line().trim()) at += 1;
    else if (line().trimStart().startsWith("```")) {
      at += 1;
      const body = gather((each) => !each.trimStart().startsWith("```"));
      at += 1;
      found.push({ kind: "code", text: body.join("\n") });
    } else if (heading) {
      at += 1;
      const words = heading[2] ?? "";
      found.push({ kind: "heading", level: (heading[1] ?? "#").length, text: inline(words), id: headingId(words) });
    } else if (/^(-{3,}|\*{3,})\s*$/.test(line())) {
      at += 1;
      found.push({ kind: "rule" });
    } else if (line().startsWith("|") && /^\|?[\s:|-]+$/.test(lines[at + 1] ?? "")) {
      const [head = "", , ...rows] = gather((each) => each.startsWith("|"));
      found.push({ kind: "table", head: cells(head), rows: rows.map(cells) });
    } else if (/^\s*([-*]|\d+\.)\s/.test(line())) {
      const ordered = /^\s*\d/.test(line());
      const items: string[] = [];
      for (const each of gather((text) => text.trim() !== "" && (/^\s*([-*]|\d+\.)\s/.test(text) || /^\s+/.test(text)))) {
        if (/^\s*([-*]|\d+\.)\s/.test(each)) items.push(each.replace(/^\s*([-*]|\d+\.)\s+/, ""));
        else items[items.length - 1] += ` ${each.trim()}`;
      }
      found.push({ kind: "list", ordered, items: items.map(inline) });
    } else if (line().startsWith(">")) {
      found.push({ kind: "quote", text: inline(gather((each) => each.startsWith(">")).map((each) => each.slice(1).trim()).join(" ")) });
    } else {
      const first = lines[at++] ?? "";
      const more = gather((each) => each.trim() !== "" && !/^(#{1,6}\s|```|\||\s*[-*]\s|>)/.test(each));
      found.push({ kind: "paragraph", text: inline([first, ...more].map((each) => each.trim()).join(" ")) });
    }
  }
  return found;
}
