import { expect, test } from "vitest";
import { fits, partsOf, repositoryOf, searchWord } from "./palette_targets";

test("names are searched for the longest word that is no kind", () => {
  expect(searchWord("dev branch")).toBe("dev");
  expect(searchWord("  New-Prices pool v1 ")).toBe("new-prices");
  expect(searchWord("branch")).toBe("");
});

test("every word has to be in the name or the kind", () => {
  const target = { name: "new-prices", kind: "branch", to: "/" };
  expect(fits(target, "PRICES branch")).toBe(true);
  expect(fits(target, "prices tag")).toBe(false);
  expect(fits(target, "")).toBe(true);
});

test("the parts are those of the repository that is looked at, whatever its name", () => {
  expect(repositoryOf("/repositories/a%20b/commits")).toBe("a b");
  expect(repositoryOf("/pools/logs")).toBe("logs");
  expect(repositoryOf("/query")).toBe("");
  expect(partsOf("a b").every((each) => each.to.startsWith("/repositories/a%20b/"))).toBe(true);
});
