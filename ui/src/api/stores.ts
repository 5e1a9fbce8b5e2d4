import { lakeUrl, type StoreInfo, storesOf } from "../app/stores";
import { servedLake } from "./lake";
import { listRepositories } from "./repositories";
import { json, route } from "./request";

/** Where the lake lies can be read off a repository that lies in it: its namespace is the lake's, and its own id. */
export async function listStores(): Promise<StoreInfo[]> {
  const [lake, { items }] = await Promise.all([servedLake(), listRepositories()]);
  const inside = items.find((each) => !each.storage);
  const namespace = inside ? (await json<{ storage_namespace: string }>("GET", route`/repositories/${inside.name}`)).storage_namespace : "";
  return storesOf(items, { url: inside ? lakeUrl(namespace, inside.id) : "", scheme: lake.store });
}
