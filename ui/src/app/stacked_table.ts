/** A table whose rows become cards on a narrow screen: each cell says which column it is of. How they look is in
 * `style.css`. */

import type { Attachment } from "svelte/attachments";

export const stacked: Attachment<HTMLTableElement> = (table) => {
  table.classList.add("stacked");
  const label = () => {
    const heads = [...table.querySelectorAll("thead th")].map((each) => each.textContent?.trim() ?? "");
    for (const row of table.tBodies[0]?.rows ?? [])
      for (const [at, cell] of [...row.cells].entries()) {
        const name = cell.colSpan > 1 ? "" : (heads[at] ?? "");
        if (cell.dataset["column"] !== name) cell.dataset["column"] = name;
      }
  };
  label();
  // Before the next frame is painted, so that no cell is seen without its name.
  const observer = new MutationObserver(label);
  observer.observe(table, { childList: true, subtree: true, characterData: true });
  return () => observer.disconnect();
};
