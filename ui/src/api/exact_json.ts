/** JSON whose numbers stay what they are. A row can hold ints of 64 bits and decimals of any length, and a number of
 * this language rounds those in silence. */

export class ExactNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

const MARK = "\u0001exact"; // no name of a field begins so
const ESCAPED = "\\u0001exact";
const MAYBE = /\d[\d.]{15}|\d[eE]/; // what is shorter is exact
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export function parseExact(text: string): unknown {
  if (!MAYBE.test(text)) return JSON.parse(text);
  const marked = text.replace(TOKENS, (token) => (token.startsWith('"') || isExact(token) ? token : `{"${ESCAPED}":"${token}"}`));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "object" && value !== null && MARK in value ? new ExactNumber(String(value[MARK])) : value,
  );
}

/** Whether a number of this language is the one that is written there. */
function isExact(token: string): boolean {
  const value = Number(token);
  return Number.isFinite(value) && canonical(token) === canonical(String(value));
}

/** Its digits without those that say nothing, and where its point is. */
function canonical(number: string): string {
  const [, sign = "", whole = "", part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + part).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (!short) return "0";
  return `${sign}${short}e${Number(power) - part.length + digits.length - short.length}`;
}

/** The opposite: JSON as the server would write it. */
export function exactText(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(exactText).join(",")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}:${exactText(inner)}`)
      .join(",")}}`;
  return JSON.stringify(value) ?? "";
}

/** As near as a number of this language comes, for places on an axis. */
export const nearest = (value: unknown): number => Number(value instanceof ExactNumber ? value.text : value);
