/** Queries to begin with, made of what the lake holds. */

import type { RepositoryInfo } from "../api/types";

export interface QueryExample {
  title: string;
  text: string;
}

export function queryExamples(all: readonly Pick<RepositoryInfo, "name" | "kind" | "pool">[]): QueryExample[] {
  const pool = all.find((each) => each.kind === "pool");
  const files = all.find((each) => each.kind === "files");
  const found: QueryExample[] = [];
  if (pool) {
    found.push({ title: `The first rows of ${pool.name}`, text: `from ${pool.name}\n| head 100` });
    found.push({ title: "How many rows of each shape there are", text: `from ${pool.name}\n| count() by shape := typeof(this)\n| sort -r count` });
  }
  if (files) found.push({ title: `Who committed to ${files.name}, and how often`, text: `from ${files.name}:log\n| count() by author\n| sort -r count` });
  found.push({ title: "Who has used the lake in what way", text: "from :usage\n| requests := count(), bytes := sum(bytes) by user, operation\n| sort -r requests" });
  return found;
}
