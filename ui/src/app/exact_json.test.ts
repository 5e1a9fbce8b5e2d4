import { expect, test } from "vitest";
import { ExactNumber, exactText, parseExact } from "../api/exact_json";
import { bucketsOf } from "./histogram";
import { withFilter } from "./query_filter";
import { changedFields, isRecord, likelyKeys } from "./rows";

const HARD = '{"id":9007199254740993,"low":-9223372036854775808,"d":0.1000000000000000055,"big":1E+400,"z":1.50}';

test("numbers that this language would round stay as they are written", () => {
  const row = parseExact(HARD) as Record<string, unknown>;
  expect(row["id"]).toBeInstanceOf(ExactNumber);
  expect([String(row["id"]), String(row["low"]), String(row["d"]), String(row["big"])]).toEqual([
    "9007199254740993",
    "-9223372036854775808",
    "0.1000000000000000055",
    "1E+400",
  ]);
  expect(row["z"]).toBe(1.5);
  expect(exactText(row)).toBe(HARD.replace("1.50", "1.5"));
});

test("all others are plain numbers, and texts are left alone", () => {
  const text = '{"a":12345678901234567890123,"t":"12345678901234567 \\\\\\" 9007199254740993","n":[9007199254740992,0.1,1e+22,5e-324,-0.0]}';
  const row = parseExact(text) as { a: unknown; t: string; n: unknown[] };
  expect(row.t).toBe('12345678901234567 \\" 9007199254740993');
  expect(row.n.every((each) => typeof each === "number")).toBe(true);
  expect(String(row.a)).toBe("12345678901234567890123");
  for (const value of [0.1, 1 / 3, Number.MAX_VALUE, 2 ** 53, 1e21]) expect(parseExact(`[${value}]`)).toEqual([value]);
});

test("they are compared, filtered by and placed like other numbers", () => {
  const [one, other] = ["9007199254740993", "9007199254740995"].map((text) => ({ id: new ExactNumber(text) }));
  expect([...changedFields(one, other)]).toEqual(["id"]);
  expect(isRecord(one?.id)).toBe(false);
  expect(withFilter("from x", ["id"], one?.id, true)).toBe("from x\n| where id == 9007199254740993");
  expect(likelyKeys([{ before: one, after: one }])).toEqual(["id"]);
  expect(bucketsOf("from x", "id", new ExactNumber("9007199254740993"), new ExactNumber("9007199254741993"))?.count).toBeGreaterThan(1);
});
