/** Who uses this page, and on which lake. */

import { type ServedLake, servedLake, signIn, signOut } from "../api/lake";
import { ApiError, whenSignedOut } from "../api/request";

type State = { kind: "unknown" } | { kind: "out" } | { kind: "in"; lake: ServedLake } | { kind: "down"; error: ApiError };

let state = $state.raw<State>({ kind: "unknown" });

whenSignedOut(() => {
  if (state.kind === "in") state = { kind: "out" };
});

export const session = {
  get state(): State {
    return state;
  },
  get user(): string {
    return state.kind === "in" ? state.lake.user : "";
  },
};

export async function restoreSession(): Promise<void> {
  try {
    state = { kind: "in", lake: await servedLake() };
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401 && error.status !== 403) state = { kind: "down", error };
    else state = { kind: "out" };
  }
}

export async function enter(key: string, secret: string): Promise<void> {
  await signIn(key.trim(), secret.trim());
  state = { kind: "in", lake: await servedLake() };
}

export async function leave(): Promise<void> {
  await signOut();
  state = { kind: "out" };
}
