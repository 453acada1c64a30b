/**
 * Warnings about names that the API does not know. They are not refused, because newer clients may send what this version
 * does not know: the answer names them, in X-Service-Warning and in `warnings` of its body. Refused are names that change the result
 * under another name, and all of them where the caller asks for that (`Prefer: handling=strict`, RFC 7240).
 */
import type { Head, Reply, Stream } from "./http.ts";
import type { UnknownName } from "./unknown-names.ts";
import type { Mistake } from "./validate.ts";

export const WARNING_HEADER = "X-Service-Warning";
export const MAX_WARNINGS = 10;
/** Names are a client's input: longer ones are cut. */
const MAX_NAME_CHARS = 60;
/** A value that an object can have only as its own: a quote within a string of JSON is escaped. */
const OWN_WARNINGS = '"warnings":[';
const CLOSING_BRACE = 0x7d;

/** The mistakes of the 422; what is none of them is added to the warnings, once each, up to MAX_WARNINGS. */
export function refusedNames(
  unknown: readonly UnknownName[],
  { head, warnings }: { readonly head: Head; readonly warnings: Set<string> },
): readonly Mistake[] {
  if (unknown.length === 0) return [];
  const isStrict = asksForStrictness(head.headers.get("prefer"));
  const refused = unknown.filter(({ changesResult }) => isStrict || changesResult);
  for (const each of unknown)
    if (warnings.size < MAX_WARNINGS && !refused.includes(each)) warnings.add(sentenceOf(each));
  return refused.map(mistakeOf);
}

/** Among other preferences, and also as a quoted string. */
const asksForStrictness = (prefer: string | undefined): boolean =>
  prefer !== undefined && /(?:^|[,;\s])handling\s*=\s*"?strict"?\s*(?:[,;]|$)/i.test(prefer);

const sentenceOf = ({ what, name, meant }: UnknownName): string =>
  `unknown ${what} ${quoted(name.slice(0, MAX_NAME_CHARS))}${meant === null ? "" : `; did you mean "${meant}"?`}`;

const mistakeOf = ({ loc, meant }: UnknownName): Mistake => ({
  loc,
  msg: `Extra inputs are not permitted${meant === null ? "" : `; did you mean "${meant}"?`}`,
  type: "extra_forbidden",
});

/** In quotes, and beyond ASCII with escapes, so that it is a header value whatever the name was. */
const quoted = (name: string): string =>
  JSON.stringify(name).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * The reply with one header field for each warning, and all of them in `warnings` where its body is a JSON object. A route whose body
 * will be a stream, and may have warnings of its own, calls it before: the second call changes nothing.
 */
export function withWarnings<R extends Reply>(reply: R, warnings: ReadonlySet<string>): R {
  if (warnings.size === 0 || reply.repeated_headers !== undefined) return reply;
  const repeated_headers = [...warnings].map((warning) => [WARNING_HEADER, warning] as const);
  const { body } = reply;
  if (body === undefined || reply.headers?.["Content-Type"] !== "application/json")
    return { ...reply, repeated_headers };
  const told =
    "chunks" in body
      ? warnedStream(body, warnings)
      : warnedObject(Buffer.isBuffer(body) ? body : Buffer.from(body.take()), warnings);
  return { ...reply, repeated_headers, body: told };
}

function warnedObject(bytes: Buffer, warnings: ReadonlySet<string>): Buffer {
  if (bytes.at(-1) !== CLOSING_BRACE) return bytes;
  if (!bytes.includes(OWN_WARNINGS)) return Buffer.concat([bytes.subarray(0, -1), tailOf(warnings)]);
  const answer = JSON.parse(bytes.toString()) as { readonly warnings?: readonly string[] };
  return Buffer.from(JSON.stringify({ ...answer, warnings: [...(answer.warnings ?? []), ...warnings] }));
}

/** No streamed answer has warnings of its own. */
function warnedStream({ length, chunks }: Stream, warnings: ReadonlySet<string>): Stream {
  const tail = tailOf(warnings);
  const source = chunks[Symbol.asyncIterator]();
  let held = Buffer.alloc(0);
  let isOver = false;
  // Not a generator: one that was never started does not release what its source holds.
  const pieces: AsyncIterator<Buffer> = {
    async next() {
      if (isOver) return { done: true, value: undefined };
      const next = await source.next();
      if (next.done) {
        isOver = true;
        return { done: false, value: held.at(-1) === CLOSING_BRACE ? tail : held };
      }
      const value = Buffer.concat([held, next.value]);
      held = value.subarray(-1);
      return { done: false, value: value.subarray(0, -1) };
    },
    async return() {
      isOver = true;
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return {
    length: length === null ? null : length - 1 + tail.length,
    chunks: { [Symbol.asyncIterator]: () => pieces },
  };
}

/** The end of an object that has at least one field. */
const tailOf = (warnings: ReadonlySet<string>): Buffer =>
  Buffer.from(`,"warnings":${JSON.stringify([...warnings])}}`);
