/** The workspace that this browser uses on a branch, kept for each repository and branch. */

const key = (repository: string, branch: string): string => `lochan.workspace.${JSON.stringify([repository, branch])}`;

/** The parts of a ref such as `main+k3v9`; the id is empty for a plain branch. */
export function partsOf(ref: string): { branch: string; id: string } {
  const at = ref.lastIndexOf("+");
  return at < 0 ? { branch: ref, id: "" } : { branch: ref.slice(0, at), id: ref.slice(at + 1) };
}

export const keptWorkspace = (repository: string, branch: string): string =>
  localStorage.getItem(key(repository, branch)) ?? "";

export function keepWorkspace(repository: string, ref: string): void {
  const { branch, id } = partsOf(ref);
  if (id) localStorage.setItem(key(repository, branch), id);
}

export const forgetWorkspace = (repository: string, branch: string): void =>
  localStorage.removeItem(key(repository, branch));
