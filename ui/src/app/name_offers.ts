/** Names that a field offers while somebody types: the server looks through all that there are. */

import { listPolicies, listUsers } from "../api/access";
import { listBranches, listRepositories, listTags } from "../api/repositories";

/** At most a few names that contain the text; none if they may not be read, since names can be typed as well. */
export type NameOffer = (text: string) => Promise<string[]>;

const OFFERED = 30;

const names = (found: Promise<{ items: { name: string }[] }>): Promise<string[]> =>
  found.then(
    ({ items }) => items.map((each) => each.name),
    () => [],
  );

export const offerBranches =
  (repository: string): NameOffer =>
  (contains) =>
    names(listBranches(repository, OFFERED, { contains }));

export const offerRefs =
  (repository: string): NameOffer =>
  async (contains) => [
    ...(await names(listBranches(repository, OFFERED, { contains }))),
    ...(await names(listTags(repository, OFFERED, { contains }))),
  ];

export const offerRepositories: NameOffer = (contains) => names(listRepositories(OFFERED, { contains }));
export const offerUsers: NameOffer = (contains) => names(listUsers(OFFERED, { contains }));
export const offerPolicies: NameOffer = (contains) => names(listPolicies(OFFERED, { contains }));
