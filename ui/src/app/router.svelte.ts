/** The address of the page is its state: every view has one, so that it can be linked, reloaded and gone back to. */

export interface Place {
  path: string;
  query: URLSearchParams;
}

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

let place = $state.raw<Place>(here());

addEventListener("popstate", () => (place = here()));

export const router = {
  get place(): Place {
    return place;
  },
};

export function go(to: string, options: { replace?: boolean } = {}): void {
  const { pathname, search, hash } = location;
  if (to === pathname + search + hash) return;
  if (options.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  place = here();
  if (place.path !== pathname) scrollTo(0, 0); // another view begins at its top
}

/** The same view with other parameters; an empty one is left out. */
export function withQuery(changes: Record<string, string | readonly string[] | null | undefined>): string {
  // eslint-disable-next-line svelte/prefer-svelte-reactivity -- it lives only in this function
  const query = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of typeof value === "string" ? [value] : (value ?? [])) if (each) query.append(name, each);
  }
  const text = query.toString();
  return place.path + (text ? `?${text}` : "");
}

/** For a link: follows it without loading the page again, unless another tab is asked for. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest("a");
  if (!link || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.pathname.startsWith("/api/")) return;
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return; // a place in this view
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}

/** Names in a pattern such as `/repositories/:repository/commits`, or nothing if the path is another. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const text = given[at] ?? "";
    if (part.startsWith(":")) {
      if (!text) return null;
      try {
        found[part.slice(1)] = decodeURIComponent(text);
      } catch {
        return null;
      }
    } else if (part !== text) return null;
  }
  return found;
}

/** A path of this page with its names escaped. */
export function link(parts: TemplateStringsArray, ...names: string[]): string {
  return parts.reduce((path, part, at) => path + encodeURIComponent(names[at - 1] ?? "") + part);
}
