import { address, json, lines, route, send, some, upload } from "./request";
import type { ChangeCount, Commit, ObjectDetails, ObjectInfo, ObjectPage, StagedChange } from "./types";

export const listPage = (repository: string, ref: string, prefix: string, after: string, limit: number) =>
  json<ObjectPage>("GET", route`/repos/${repository}/refs/${ref}/objects/page`, {
    query: { prefix, delimiter: "/", after, limit },
  });
export const stat = (repository: string, ref: string, path: string) =>
  json<ObjectInfo>("GET", route`/repos/${repository}/refs/${ref}/objects/stat`, { query: { path } });
export const details = (repository: string, ref: string, path: string) =>
  json<ObjectDetails>("GET", route`/repos/${repository}/refs/${ref}/objects/details`, { query: { path } });
export const bodyAddress = (repository: string, ref: string, path: string) =>
  address(route`/repos/${repository}/refs/${ref}/objects/body`, { path });
export async function readStart(repository: string, ref: string, path: string, bytes: number): Promise<Uint8Array> {
  const answer = await send("GET", route`/repos/${repository}/refs/${ref}/objects/body`, {
    query: { path, start: 0, stop: bytes },
  });
  return new Uint8Array(await answer.arrayBuffer());
}

export const putFile = (
  repository: string,
  ref: string,
  path: string,
  file: Blob,
  contentType: string,
  progress: (share: number) => void,
  signal?: AbortSignal,
) => upload(route`/repos/${repository}/refs/${ref}/objects`, { path, content_type: contentType }, file, progress, signal);
/** In place of exactly the object that was read; without one, only where there is none. */
export const putText = (repository: string, ref: string, path: string, text: string, before: ObjectInfo | null) =>
  send("PUT", route`/repos/${repository}/refs/${ref}/objects`, {
    query: before
      ? { path, if_match: before.etag, content_type: before.content_type, metadata: JSON.stringify(before.metadata) }
      : { path, if_absent: true, content_type: "text/plain" },
    body: text,
  });
export const deletePaths = (repository: string, ref: string, paths: string[]) =>
  send("POST", route`/repos/${repository}/refs/${ref}/objects/delete`, { json: { paths } });

/** What is staged behind the path `after`. */
export const status = (repository: string, ref: string, after: string, limit: number) =>
  some(lines<StagedChange>(route`/repos/${repository}/refs/${ref}/status`, { query: { after } }), limit);
export const statusCount = (repository: string, ref: string) =>
  json<ChangeCount>("GET", route`/repos/${repository}/refs/${ref}/status/count`);
export const commit = (repository: string, branch: string, message: string, paths: string[]) =>
  json<Commit>("POST", route`/repos/${repository}/branches/${branch}/commits`, {
    json: paths.length ? { message, paths } : { message },
  });
export const reset = (repository: string, branch: string, paths: string[]) =>
  send("POST", route`/repos/${repository}/branches/${branch}/reset`, { json: paths.length ? { paths } : {} });
