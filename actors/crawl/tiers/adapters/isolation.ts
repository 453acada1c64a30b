/** Code beside the scripts of a page in the browser. */
import type { PageLease } from "./browser-pool.ts";

/** The same name is the same world. */
const WORLD = "trawl";

/**
 * Runs a function where the page's scripts cannot manipulate it, and awaits what it gives. The function can use nothing of its own file, and is given
 * JSON. Throws what the browser throws: the document was just replaced, or the page has gone.
 */
export async function inIsolation<T>(
  { cdp, frame: frameId }: { readonly cdp: PageLease["cdp"]; readonly frame: string },
  run: (...given: never[]) => T | Promise<T>,
  ...given: readonly unknown[]
): Promise<T | undefined> {
  const { executionContextId } = await cdp.send("Page.createIsolatedWorld", { frameId, worldName: WORLD });
  const { result } = await cdp.send("Runtime.evaluate", {
    expression: `(${run.toString()})(${given.map((one) => JSON.stringify(one)).join(", ")})`,
    contextId: executionContextId,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value as T | undefined;
}
