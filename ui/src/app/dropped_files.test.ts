import { expect, test } from "vitest";
import { dropped, named } from "./dropped_files";

const file = (fullPath: string) => ({
  isDirectory: false,
  fullPath,
  file: (give: (file: File) => void) => give(new File(["x"], fullPath.split("/").pop() ?? "")),
});

/** As a browser gives it: a hundred at a time, and then none. */
function folder(fullPath: string, inside: unknown[]) {
  return {
    isDirectory: true,
    fullPath,
    createReader: () => {
      let at = 0;
      return { readEntries: (give: (part: unknown[]) => void) => give(inside.slice(at, (at += 100))) };
    },
  };
}

const items = (...entries: unknown[]) => ({ items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })), files: [] }) as unknown as DataTransfer;

test("a folder is taken with all that is in it, however much", async () => {
  const many = Array.from({ length: 250 }, (_, at) => file(`/raw/day/${at}.csv`));
  const found = await dropped(items(folder("/raw", [folder("/raw/day", many), file("/raw/a.txt")]), file("/b.txt")));
  expect(found).toHaveLength(252);
  expect(found.map((each) => each.path)).toEqual(expect.arrayContaining(["raw/day/249.csv", "raw/a.txt", "b.txt"]));
});

test("a folder that was chosen keeps its paths", () => {
  const chosen = Object.defineProperty(new File(["x"], "a.txt"), "webkitRelativePath", { value: "raw/a.txt" });
  expect(named([chosen, new File(["y"], "b.txt")]).map((each) => each.path)).toEqual(["raw/a.txt", "b.txt"]);
});
