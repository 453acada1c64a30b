/** PUT requests with a body in memory, over kept connections. The caller chooses address and header fields, and signs. */
import { Agent, requestOver } from "../parts.undici.ts";

export interface PutRequests {
  /** The status of the response, whose body is dropped. Throws what undici throws, and the signal's reason. */
  put(
    url: string,
    headers: Readonly<Record<string, string>>,
    content: Buffer,
    signal: AbortSignal,
  ): Promise<number>;
  close(): Promise<void>;
}

export function putRequests(limits: {
  readonly connections: number;
  readonly connect_ms: number;
}): PutRequests {
  const dispatcher = new Agent({
    connections: limits.connections,
    connect: { timeout: limits.connect_ms },
  });
  return {
    async put(url, headers, content, signal) {
      const { origin, pathname, search } = new URL(url);
      const { statusCode, body } = await requestOver(dispatcher, {
        origin,
        path: pathname + search,
        method: "PUT",
        headers,
        body: content,
        signal,
      });
      await body.dump();
      return statusCode;
    },
    close: () => dispatcher.destroy(),
  };
}
