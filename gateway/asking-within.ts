/** The API as translations of it ask it, in the name of their caller: through the gateway's own routes. */
import { answered, type AskApi } from "./mcp/api.ts";
import { wholeReply } from "./reply-bytes.ts";
import type { AskWithin } from "./route.ts";

export const askingWithin =
  (askWithin: AskWithin): AskApi =>
  async (request) => {
    const reply = await askWithin(request);
    return answered(reply.status, reply.headers?.["Retry-After"], contentOf(await wholeReply(reply)));
  };

/** Null: it is no JSON. */
function contentOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}
