/** What the command palette can go to or do. Names are searched by the server, so that every one can be found. */

import { listBranches, listRepositories, listTags } from "../api/repositories";
import { tellError } from "./notices.svelte";
import { link } from "./router.svelte";
import { leave } from "./session.svelte";
import { setTheme } from "./theme.svelte";

export interface Target {
  name: string;
  kind: string;
  to: string;
  act?: () => unknown;
}

export const VIEWS: Target[] = [
  { name: "Repositories and pools", kind: "view", to: "/" },
  { name: "Query", kind: "view", to: "/query" },
  { name: "Events", kind: "view", to: "/events" },
  { name: "Operations", kind: "view", to: "/operations" },
  { name: "Help", kind: "view", to: "/docs" },
  { name: "Jobs", kind: "view", to: "/jobs" },
  { name: "Stores", kind: "view", to: "/stores" },
  { name: "Access", kind: "view", to: "/access" },
  { name: "Use of the lake, by user", kind: "view", to: "/access?tab=use" },
  { name: "Audit log", kind: "view", to: "/access?tab=audit" },
  { name: "Sessions", kind: "view", to: "/access?tab=sessions" },
  { name: "Signing in: OpenID Connect, LDAP", kind: "view", to: "/access?tab=signin" },
  { name: "Policies", kind: "view", to: "/access?tab=policies" },
  ...(["light", "dark", "system"] as const).map((theme) => ({
    name: `Theme: ${theme}`,
    kind: "act",
    to: `#theme-${theme}`,
    act: () => setTheme(theme),
  })),
  { name: "Sign out", kind: "act", to: "#sign-out", act: () => leave().catch(tellError) },
];

const PARTS = [
  ["Commits", "/commits"],
  ["Compare", "/compare"],
  ["Pull requests", "/pulls"],
  ["Branches and tags", "/branches"],
  ["Settings", "/settings"],
  ["Hooks", "/settings?tab=hooks"],
  ["Import", "/settings?tab=import"],
  ["Garbage and retention", "/settings?tab=storage"],
] as const;

const KINDS = ["act", "branch", "pool", "repository", "tag", "view"];
const FOUND = 20; // of each list; the palette shows fewer

/** The repository that a path of this page is about; empty: none. */
export function repositoryOf(path: string): string {
  const found = /^\/(?:repositories|pools)\/([^/]+)/.exec(path)?.[1] ?? "";
  return decodeURIComponent(found);
}

export function partsOf(repository: string): Target[] {
  return PARTS.map(([name, end]) => ({ name, kind: repository, to: link`/repositories/${repository}` + end }));
}

const words = (text: string) => text.toLowerCase().split(/\s+/).filter(Boolean);

export const fits = (target: Target, text: string) =>
  words(text).every((word) => `${target.name} ${target.kind}`.toLowerCase().includes(word));

/** The word that names are searched for: the longest that is not just a kind. */
export function searchWord(text: string): string {
  const [longest = ""] = words(text)
    .filter((word) => !KINDS.includes(word))
    .sort((one, other) => other.length - one.length);
  return longest;
}

/** Repositories and pools, then branches and tags of the one that is looked at. A list that may not be read is empty. */
export async function findNames(text: string, repository: string, isPool: boolean): Promise<Target[]> {
  const search = { contains: searchWord(text) };
  const none = { items: [], more: false };
  const [repositories, branches, tags] = await Promise.all([
    listRepositories(FOUND, search),
    repository ? listBranches(repository, FOUND, search).catch(() => none) : none,
    repository ? listTags(repository, FOUND, search).catch(() => none) : none,
  ]);
  const at = (name: string) =>
    `${isPool ? link`/pools/${repository}` : link`/repositories/${repository}`}?${isPool ? "branch" : "ref"}=${encodeURIComponent(name)}`;
  return [
    ...repositories.items.map(({ name, kind }) => ({
      name,
      kind: kind === "pool" ? "pool" : "repository",
      to: kind === "pool" ? link`/pools/${name}` : link`/repositories/${name}`,
    })),
    ...branches.items.map(({ name }) => ({ name, kind: "branch", to: at(name) })),
    ...(isPool ? [] : tags.items.map(({ name }) => ({ name, kind: "tag", to: at(name) }))),
  ];
}
