import { expect, test } from "vitest";
import type { Commit } from "../api/types";
import { CommitHistory } from "./commit_history";

const ALL = ["e", "d", "c", "b", "a"];
const ids = (commits: readonly Pick<Commit, "id">[]): string => commits.map((each) => each.id).join("");

function reader(): { history: CommitHistory; asked: [string, number][] } {
  const asked: [string, number][] = [];
  const history = new CommitHistory(async (head, after, limit) => {
    asked.push([after, limit]);
    const rest = ALL.slice(ALL.indexOf(after || head) + (after ? 1 : 0));
    return { items: rest.slice(0, limit).map((id) => ({ id }) as Commit), more: rest.length > limit };
  });
  return { history, asked };
}

test("each commit is read once, and what is known is not asked for", async () => {
  const { history, asked } = reader();
  expect(ids((await history.upTo("e", 2)).items)).toBe("ed");
  expect((await history.upTo("e", 1)).more).toBe(true);
  expect(ids((await history.upTo("e", 4)).items)).toBe("edcb");
  const whole = await history.upTo("e", 100);
  expect([ids(whole.items), whole.more]).toEqual(["edcba", false]);
  await history.upTo("e", 1_000);
  expect(asked).toEqual([["", 2], ["d", 2], ["b", 96]]);
});

test("who asks twice at once is answered by one request, and a failure is not kept", async () => {
  const { history, asked } = reader();
  await Promise.all([history.upTo("e", 2), history.upTo("e", 2)]);
  expect(asked).toEqual([["", 2]]);
  let fails = true;
  const broken = new CommitHistory(async () => {
    if (fails) throw new Error("gone");
    return { items: [], more: false };
  });
  await expect(broken.upTo("e", 2)).rejects.toThrow("gone");
  fails = false;
  expect((await broken.upTo("e", 2)).more).toBe(false);
});

test("another head is another history", async () => {
  const { history, asked } = reader();
  await history.upTo("e", 2);
  expect(ids((await history.upTo("c", 2)).items)).toBe("cb");
  expect(asked).toEqual([["", 2], ["", 2]]);
});
