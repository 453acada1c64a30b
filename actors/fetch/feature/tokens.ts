/** What fetches take of other features. */
import { gathered } from "../../../node/token.ts";
import type { PageReader } from "../reserved-hosts.ts";

/** The readers of pages of hosts that a feature owns; `owner` is the name of that feature's system. */
export const PageReaders = gathered<{ readonly owner: string; readonly reader: PageReader }>("page readers");
