/** Code beside the scripts of a page in the browser. */
import type { PageLease } from "./browser-pool.ts";

/** Name of the isolated world; calls with an equal name share it. */
export const WORLD = "trawl";

/** Throws what the browser throws. */
export async function isolatedWorld(cdp: PageLease["cdp"], frameId: string): Promise<number> {
  const world = await cdp.send("Page.createIsolatedWorld", { frameId, worldName: WORLD });
  return world.executionContextId;
}

/**
 * Runs a function where the page's scripts cannot manipulate it, and awaits what it gives. The function can use nothing of its own file, and is given
 * JSON. Throws what the browser throws: the document was just replaced, or the page has gone.
 */
export async function inIsolation<T>(
  { cdp, frame }: { readonly cdp: PageLease["cdp"]; readonly frame: string },
  run: (...given: never[]) => T | Promise<T>,
  ...given: readonly unknown[]
): Promise<T | undefined> {
  const { result } = await cdp.send("Runtime.evaluate", {
    expression: `(${run.toString()})(${given.map((one) => JSON.stringify(one)).join(", ")})`,
    contextId: await isolatedWorld(cdp, frame),
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value as T | undefined;
}
