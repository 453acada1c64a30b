/** How many large request bodies are in memory at a time. */
import type { ByteBudget } from "../cluster/byte-budget.ts";
import { bodyRoom, UNCOUNTED_BYTES } from "./body-room.ts";
import type { RequestContext } from "./compiled-route.ts";
import type { Admission, Body, Reply } from "./http.ts";
import { unavailable } from "./http-errors.ts";

/**
 * A body is kept in memory until it is read. The number of connections bounds the small ones. Large ones are limited to
 * these numbers at a time, fewer for keys that are not looked up yet, and all but small ones by their bytes
 * (body-room.ts); further requests get 503.
 */
const LARGE_BODY_BYTES = 2 ** 20;
const MAX_LARGE_BODIES = 16;
const MAX_LARGE_BODIES_UNAUTHENTICATED = 4;
export const TOO_MANY_LARGE = unavailable("too many large requests at once, try again", 5);

/** Whose body it is: a key that is still looked up may be wrong. */
export type BodyOwner = "authenticated" | "unauthenticated";

/** Reserves a place and memory for a body that is or may become large, until it is answered or the client disconnects. */
export type LimitLargeBodies = (
  context: RequestContext,
  callers: BodyOwner,
  limit_bytes: number,
  refuse: () => Reply | Promise<Reply>,
  answer: (body: Body) => Reply | Promise<Reply>,
) => Admission;

/** Without `memory` only their number is limited. */
export function largeBodies(memory: Pick<ByteBudget, "requests"> | undefined): LimitLargeBodies {
  const large: Record<BodyOwner, number> = { authenticated: 0, unauthenticated: 0 };
  return (context, callers, limit_bytes, refuse, answer) => {
    const { head, abort } = context;
    const refused = (): Admission => {
      const refusal = refuse();
      return refusal instanceof Promise
        ? { limit_bytes, hasRoom: () => false, answer: () => refusal }
        : refusal;
    };
    const length = head.headers.get("content-length");
    const isUnknown = length === undefined && head.headers.has("transfer-encoding");
    const bytes = isUnknown ? limit_bytes : Number(length ?? 0);
    if (Math.min(bytes, limit_bytes) <= UNCOUNTED_BYTES || bytes > limit_bytes)
      return { limit_bytes, answer };
    const isLarge = bytes > LARGE_BODY_BYTES;
    const most = callers === "authenticated" ? MAX_LARGE_BODIES : MAX_LARGE_BODIES_UNAUTHENTICATED;
    if (isLarge && large[callers] >= most) return refused();
    const room = bodyRoom(memory?.requests, limit_bytes);
    if (!isUnknown && !room.hasRoom(bytes)) return refused();
    if (isLarge) large[callers]++;
    const free = once(() => {
      if (isLarge) large[callers]--;
      room.release();
    });
    abort.signal.addEventListener("abort", free);
    return {
      limit_bytes,
      hasRoom: room.hasRoom,
      answer: async (body) => {
        try {
          return await (body.kind === "no_room" ? refuse() : answer(body));
        } finally {
          free();
        }
      },
    };
  };
}

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}
