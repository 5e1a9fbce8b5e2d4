import { json, lines, route, send, some } from "./request";
import type { NameSearch } from "./repositories";
import type { KeyInfo, NewKey, PolicyInfo, UserInfo } from "./types";

const MANY = 1_000;

export const listUsers = (limit = MANY, search: NameSearch = {}) =>
  some(lines<UserInfo>("/access/users", { query: { ...search } }), limit);
export const createUser = (name: string) => json<UserInfo>("POST", "/access/users", { json: { name } });
export const deleteUser = (name: string) => send("DELETE", route`/access/users/${name}`);
export const listKeys = (user: string) => some(lines<KeyInfo>(route`/access/users/${user}/keys`), MANY);
export const createKey = (user: string) => json<NewKey>("POST", route`/access/users/${user}/keys`, { json: {} });
export const revokeKey = (id: string) => send("DELETE", route`/access/keys/${id}`);
export const listPolicies = (limit = MANY, search: Pick<NameSearch, "contains"> = {}) =>
  some(lines<PolicyInfo>("/access/policies", { query: { ...search } }), limit);
export const attachPolicy = (user: string, policy: string) =>
  send("PUT", route`/access/users/${user}/policies/${policy}`);
export const detachPolicy = (user: string, policy: string) =>
  send("DELETE", route`/access/users/${user}/policies/${policy}`);

export interface GroupInfo {
  name: string;
  members: string[];
  policies: string[];
}

export const listGroups = (limit = MANY, search: NameSearch = {}) =>
  some(lines<GroupInfo>("/access/groups", { query: { ...search } }), limit);
export const createGroup = (name: string) => send("POST", "/access/groups", { json: { name } });
export const deleteGroup = (name: string) => send("DELETE", route`/access/groups/${name}`);
export const addMember = (group: string, user: string) => send("PUT", route`/access/groups/${group}/members/${user}`);
export const removeMember = (group: string, user: string) => send("DELETE", route`/access/groups/${group}/members/${user}`);
export const attachToGroup = (group: string, policy: string) =>
  send("PUT", route`/access/groups/${group}/policies/${policy}`);
export const detachFromGroup = (group: string, policy: string) =>
  send("DELETE", route`/access/groups/${group}/policies/${policy}`);
export const setDisabled = (user: string, on: boolean) =>
  send("PUT", route`/access/users/${user}/disabled`, { json: { on } });
export const putPolicy = (name: string, text: string) =>
  send("PUT", route`/access/policies/${name}`, { body: text, headers: { "content-type": "application/json" } });
export const deletePolicy = (name: string) => send("DELETE", route`/access/policies/${name}`);
