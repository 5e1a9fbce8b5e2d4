import { followStream } from "./event_stream";
import { json, send } from "./request";
import type { EventLine, JobInfo } from "./types";

export interface ServedLake {
  id: string;
  version: string;
  user: string;
  store: string; // the scheme of the place where it lies
  tls: boolean;
  loopback: boolean; // whether only this machine can connect
}

export const servedLake = () => json<ServedLake>("GET", "/lake");
export const signIn = (access_key_id: string, secret_access_key: string) =>
  send("POST", "/auth/login", { json: { access_key_id, secret_access_key } });
export interface OidcCapability {
  title: string;
  path: string;
}

/** How people can sign in beside access keys and secrets. */
export interface SignInMethods {
  oidc?: OidcCapability | null; // at a provider of OpenID Connect
  ldap?: boolean; // with the names and passwords of a directory
}

export const signInMethods = () => json<SignInMethods>("GET", "/auth/capabilities");
/** Whether there is anybody who could sign in. */
export const isSetUp = async () => (await json<{ state: string }>("GET", "/setup_lakefs")).state === "initialized";

export interface AdminKeys {
  access_key_id: string;
  secret_access_key: string;
}

export const createAdministrator = (token: string, username: string) =>
  json<AdminKeys>("POST", "/setup", { json: { token, username } });
export const signOut = () => send("POST", "/auth/logout");

export const jobs = () => json<JobInfo[]>("GET", "/jobs", { query: { limit: 50 } });

/** The last events, oldest first, and then those to come. Returns what stops it. */
export function followEvents(
  repository: string,
  last: number,
  listener: (event: EventLine) => void,
  failed: (error: unknown) => void,
): () => void {
  return followStream("/events", { repository, last }, (event) => listener(JSON.parse(event.data) as EventLine), failed);
}
