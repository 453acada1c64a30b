/** The localStorage of a session's pages: put into a page before its scripts run, and read when it is done. Both beside the page's scripts. */
import type { StorageItem } from "../../../lib/web/session-jar.ts";
import type { PageLease } from "./browser-pool.ts";
import { within, LATE } from "./in-time.ts";
import { inIsolation, WORLD } from "./isolation.ts";

/** Longer items are not kept: they would push the cookies out of the session. */
const MAX_ITEM_CHARS = 8_192;
const MAX_ORIGIN_CHARS = 32_768;
const READ_MS = 1_000;

type Values = Readonly<Record<string, string>>;

export async function putStorage(cdp: PageLease["cdp"], items: readonly StorageItem[]): Promise<void> {
  if (items.length === 0) return;
  const origins: Record<string, Record<string, string>> = {};
  for (const { origin, name, value } of items) (origins[origin] ??= {})[name] = value;
  // Without it the browser takes the script and does not run it.
  await cdp.send("Page.enable");
  await cdp.send("Page.addScriptToEvaluateOnNewDocument", {
    source: `(${restore.toString()})(${JSON.stringify(origins)})`,
    worldName: WORLD,
  });
}

/** The storage of the page's own origin, as it stands; null: the page is not there, or does not answer. */
export async function readStorage(
  cdp: PageLease["cdp"],
): Promise<{ readonly origin: string; readonly items: readonly StorageItem[] } | null> {
  const reading = cdp
    .send("Page.getFrameTree")
    .then(({ frameTree }) =>
      inIsolation({ cdp, frame: frameTree.frame.id }, describe, MAX_ITEM_CHARS, MAX_ORIGIN_CHARS),
    )
    .catch(() => null);
  const read = await within(reading, READ_MS);
  if (read === LATE || !read) return null;
  const { origin, values } = read;
  return { origin, items: Object.entries(values).map(([name, value]) => ({ origin, name, value })) };
}

/** Runs in the page, so it cannot use anything from this file. Only into an empty one: a later document of the page has what an earlier one kept. */
function restore(origins: Readonly<Record<string, Values>>): void {
  try {
    const values = Object.hasOwn(origins, location.origin) ? origins[location.origin]! : {};
    if (localStorage.length > 0) return;
    for (const name of Object.keys(values)) localStorage.setItem(name, values[name]!);
  } catch {
    // A page without storage.
  }
}

/** Runs in the page, so it cannot use anything from this file. */
function describe(
  max_item_chars: number,
  max_chars: number,
): { readonly origin: string; readonly values: Values } | null {
  const values: Record<string, string> = {};
  let chars = 0;
  try {
    for (let at = 0; at < localStorage.length; at++) {
      const name = localStorage.key(at)!;
      const value = localStorage.getItem(name)!;
      const length = name.length + value.length;
      if (length > max_item_chars || chars + length > max_chars) continue;
      chars += length;
      values[name] = value;
    }
    return { origin: location.origin, values };
  } catch {
    return null;
  }
}

declare const location: { readonly origin: string };
declare const localStorage: {
  readonly length: number;
  readonly key: (at: number) => string | null;
  readonly getItem: (name: string) => string | null;
  readonly setItem: (name: string, value: string) => void;
};
