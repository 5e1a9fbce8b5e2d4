/** A statement as a person would write it: its clauses on lines of their own, those of a part in brackets further in. */

const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]|\s+|[^\s()'"]+/g;
const CLAUSES = new Set(["FROM", "WHERE", "ORDER", "LIMIT", "HAVING", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "GROUP"]);
const JOINS = new Set(["JOIN", "LEFT", "INNER", "RIGHT", "FULL", "CROSS", "ASOF", "ANTI", "SEMI"]);

export function layoutSql(sql: string): string {
  const tokens = sql.match(TOKEN) ?? [];
  const open: boolean[] = []; // for each bracket: whether a statement is in it
  let text = "";
  let joined = false;
  const breakLine = () => {
    text = `${text.trimEnd()}\n${"  ".repeat(open.filter(Boolean).length)}`;
  };
  for (const [at, token] of tokens.entries()) {
    const word = token.toUpperCase();
    const within = open.at(-1) ?? true; // not in a call such as `count(… ORDER BY …)`
    if (token === "(") {
      const statement = /^(SELECT|WITH)$/i.test(tokens[at + 1] ?? "");
      text += token;
      open.push(statement);
      if (statement) breakLine();
    } else if (token === ")") {
      if (open.pop()) breakLine();
      text += token;
    } else if (within && (CLAUSES.has(word) || (JOINS.has(word) && !joined))) {
      if (text.trim()) breakLine();
      text += token;
    } else text += /^\s+$/.test(token) ? (/\s$/.test(text) ? "" : " ") : token;
    if (token.trim()) joined = JOINS.has(word) && word !== "JOIN";
  }
  return text.trim();
}
