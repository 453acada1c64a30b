/** Lines of a body that arrives piece by piece. */

/**
 * Every line that is complete. What follows the last line break is left out: it may be half a line. Throws when nothing at all arrives for `silent_ms`;
 * a reader that stops early closes the connection.
 */
export async function* linesOf(body: ReadableStream<Uint8Array>, silent_ms: number): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silent_ms);
      if (done) return;
      // A character may be cut in two by the pieces.
      const text = decoder.decode(value, { stream: true });
      let from = 0;
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
        yield rest + text.slice(from, at);
        rest = "";
        from = at + 1;
      }
      rest += text.slice(from);
    }
  } finally {
    // A connection that broke leaves nothing to close.
    reader.cancel().catch(() => {});
  }
}

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing arrived for ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
