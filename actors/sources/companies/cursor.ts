/**
 * Cursors of lists: opaque to clients, signed, and valid only for the list they came from. All nodes share the key, which
 * the first one that needs it stores.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Json } from "./claim.ts";
import { collection } from "../../../cluster/collection.ts";

export const CURSOR_KEYS = collection<string>("company_cursor_keys");
const MAC_BYTES = 12;
const MAX_CHARS = 1_000;

export interface Cursors {
  /** `list`: what the cursor belongs to, with its filters. Throws Fault. */
  readonly seal: (list: string, position: Json) => Promise<string>;
  /** Null: the cursor was altered, or belongs to another list. Throws Fault. */
  readonly open: (list: string, cursor: string) => Promise<Json | null>;
}

export function openCursors(documents: Documents): Cursors {
  let key: Promise<Buffer> | null = null;

  async function load(): Promise<Buffer> {
    const fresh = randomBytes(32).toString("base64");
    await CURSOR_KEYS.put(documents, "key", fresh, 0);
    return Buffer.from((await CURSOR_KEYS.get(documents, "key"))!, "base64");
  }

  async function sign(list: string, text: string): Promise<Buffer> {
    key ??= load().catch((problem: unknown) => {
      key = null;
      throw problem;
    });
    return createHmac("sha256", await key)
      .update(`${list}\n${text}`)
      .digest()
      .subarray(0, MAC_BYTES);
  }

  return {
    async seal(list, position) {
      const text = JSON.stringify(position);
      return Buffer.concat([await sign(list, text), Buffer.from(text)]).toString("base64url");
    },
    async open(list, cursor) {
      if (cursor.length > MAX_CHARS) return null;
      const bytes = Buffer.from(cursor, "base64url");
      if (bytes.length <= MAC_BYTES) return null;
      const text = bytes.subarray(MAC_BYTES).toString();
      const signature = await sign(list, text);
      if (!timingSafeEqual(signature, bytes.subarray(0, MAC_BYTES))) return null;
      return JSON.parse(text) as Json;
    },
  };
}
