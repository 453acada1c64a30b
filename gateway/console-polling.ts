/**
 * Answers that the console asks for again and again carry an entity tag, and are 304 while they are equal. The request is checked,
 * limited and billed as without it; only its bytes are spared. Pure.
 */
import { hash } from "node:crypto";
import { matches } from "./conditional.ts";
import { MARK_FIELD } from "./console-sessions.ts";
import type { Head, Reply } from "./http.ts";

/** A larger answer is none of the console's lists, and its digest would cost more than it spares. */
const MAX_BYTES = 1_048_576;

export const isPolled = ({ method, headers }: Pick<Head, "method" | "headers">): boolean =>
  method === "GET" && headers.get(MARK_FIELD) !== undefined;

export function unlessEqual(reply: Reply, if_none_match: string | undefined): Reply {
  const { body, headers = {}, status } = reply;
  if (status !== 200 || !Buffer.isBuffer(body) || body.length > MAX_BYTES) return reply;
  if (headers["ETag"] !== undefined || !headers["Content-Type"]?.startsWith("application/json")) return reply;
  // Weak: the answer may be sent in a coding.
  const tag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const tagged = { ETag: `W/${tag}`, "Cache-Control": "no-store" };
  if (!matches(if_none_match, tag)) return { ...reply, headers: { ...headers, ...tagged } };
  const { "Content-Type": _, ...others } = headers;
  return { status: 304, headers: { ...others, ...tagged } };
}
