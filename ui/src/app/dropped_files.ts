/** Files that were dropped, with those in folders, each with its path below where it was dropped. */

export interface NamedFile {
  path: string;
  file: File;
}

export function named(files: Iterable<File>): NamedFile[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Must be called while the event is handled: afterwards the browser forgets what was dropped. */
export function dropped(data: DataTransfer): Promise<NamedFile[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((entry) => entry?.isDirectory)) return Promise.resolve(named(data.files));
  return below(entries.filter((entry) => entry !== null));
}

async function below(entries: readonly FileSystemEntry[]): Promise<NamedFile[]> {
  const found: NamedFile[] = [];
  for (const entry of entries) {
    if (entry.isDirectory) found.push(...(await below(await all(entry as FileSystemDirectoryEntry))));
    else {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      found.push({ path: entry.fullPath.replace(/^\//, ""), file });
    }
  }
  return found;
}

/** A browser gives a folder in parts: what is empty is the end. */
async function all(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    found.push(...part);
  }
}
