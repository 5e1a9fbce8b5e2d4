/** How an object is shown, by its name and type. */

export type PreviewKind = "table" | "image" | "markdown" | "text" | "none";

const TABLES = /\.(parquet|csv|tsv|ndjson|jsonl|arrow)$/i;
const IMAGES = /\.(png|jpe?g|gif|webp|avif|bmp)$/i;
const TEXTS = /\.(txt|md|json|ya?ml|toml|ini|cfg|log|py|sql|ts|js|html?|css|xml|sh|rs|go|java|c|h|svg)$/i;

export function previewKind(path: string, contentType: string): PreviewKind {
  if (TABLES.test(path)) return "table";
  if (/\.(md|markdown)$/i.test(path)) return "markdown";
  if (IMAGES.test(path)) return "image";
  if (TEXTS.test(path) || contentType.startsWith("text/") || contentType === "application/json") return "text";
  return "none";
}

/** The query that shows the first rows of a file; its path is quoted, since a name may hold anything. */
export function tableQuery(repository: string, ref: string, path: string, limit: number): string {
  return `from ${repository}@${ref}/${JSON.stringify(path)} | head ${limit}`;
}

/** Whether bytes can be read as text. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
