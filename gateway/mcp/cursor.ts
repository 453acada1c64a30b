/**
 * Where an answer was cut. A cursor holds the tool, its arguments and the place, so that any node can go on without a session:
 * the node asks again, which the caches answer, and compares the text with a digest. A cursor is not secret and not trusted:
 * whoever makes one could have called the tool.
 */
import { createHash } from "node:crypto";
import { type Static, Type } from "typebox";
import { shape } from "../validate.ts";

const Place = Type.Object({
  tool: Type.String({ maxLength: 40 }),
  args: Type.Record(Type.String(), Type.Unknown()),
  /** In UTF-16 units of the whole text. */
  offset: Type.Integer({ minimum: 0 }),
  /** Digest of the whole text. */
  digest: Type.String({ maxLength: 16 }),
});
export type Place = Static<typeof Place>;
const placeShape = shape(Place);

export const digestOf = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 12);

export const encodeCursor = (place: Place): string =>
  Buffer.from(JSON.stringify(place)).toString("base64url");

/** Null: the text is no cursor. */
export function decodeCursor(cursor: string): Place | null {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return placeShape.fits(place) ? (place as Place) : null;
  } catch {
    return null;
  }
}
