/** Views that refresh themselves: a number that grows when something has happened in a repository, or anywhere.
 *
 * One stream at a time for each view that can be seen, since a browser opens few connections to a server. A tab that was
 * hidden asks once when it is seen again. */

import { followStream } from "../api/event_stream";

const QUIET_MS = 400; // what happens together is one refresh

export interface Live {
  readonly version: number;
}

/** Call it while a component is made. An empty name stands for the whole lake. */
export function liveOf(repository: () => string): Live {
  let version = $state(0);
  $effect(() => {
    const name = repository();
    let stop: (() => void) | null = null;
    let waiting: ReturnType<typeof setTimeout> | undefined;

    const happened = () => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        version += 1;
      }, QUIET_MS);
    };
    const begin = () => {
      // Who may not read events sees the view as it was loaded.
      stop ??= followStream("/events", name ? { repository: name } : {}, happened, () => undefined);
    };
    const onVisibility = () => {
      if (document.visibilityState === "visible") {
        if (!stop) version += 1;
        begin();
      } else {
        stop?.();
        stop = null;
      }
    };

    if (document.visibilityState === "visible") begin();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearTimeout(waiting);
      stop?.();
    };
  });
  return {
    get version() {
      return version;
    },
  };
}
