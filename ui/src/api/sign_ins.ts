import { json, lines, route, send, some } from "./request";

export interface LoginSession {
  id: string;
  user: string;
  how: string; // key, oidc, ldap
  access_key_id: string | null;
  address: string | null;
  begun: string;
  expires: string;
  source: string | null;
}

export interface Identity {
  user: string;
  source: string;
  subject: string;
  linked: string;
  linked_by: string;
}

/** How people sign in, as the server is configured; without its secrets. */
export interface LoginSettings {
  oidc: Record<string, unknown> | null;
  ldap: Record<string, unknown> | null;
}

export const listSessions = (limit: number) => some(lines<LoginSession>("/access/sessions"), limit);
export const endSession = (id: string) => send("DELETE", route`/access/sessions/${id}`);
export const endSessions = (user: string) => json<number>("DELETE", route`/access/users/${user}/sessions`);
export const listIdentities = (limit: number) => some(lines<Identity>("/access/identities"), limit);
export const linkIdentity = (user: string, source: string, subject: string) =>
  send("POST", route`/access/users/${user}/identities`, { json: { source, subject } });
export const unlinkIdentity = (one: Identity) =>
  send("DELETE", route`/access/users/${one.user}/identities`, { query: { source: one.source, subject: one.subject } });
export const loginSettings = () => json<LoginSettings>("GET", "/auth/settings");
