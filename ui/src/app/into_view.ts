/** Scrolls a row of links so that the one of this view can be seen; it never scrolls the page. */

import type { Attachment } from "svelte/attachments";

export const currentInView: Attachment<HTMLElement> = (row) => {
  const current = row.querySelector<HTMLElement>("[aria-current]");
  if (!current) return;
  const left = current.offsetLeft - row.offsetLeft;
  if (left + current.offsetWidth > row.clientWidth) row.scrollLeft = left - (row.clientWidth - current.offsetWidth) / 2;
};
