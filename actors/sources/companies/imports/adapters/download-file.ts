/** A file from an address into the folder of imports, through the egress guard. It takes its name when it is whole. */
import { createWriteStream } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { EgressError, type Egress, type ExchangeResponse } from "../../../../../cluster/ports/egress.ts";
import type { Download, DownloadRequest } from "../scheduled-imports.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** GLEIF's largest file has 0.5 GB, Companies House's 2.2. */
const MAX_BYTES = 16 * 2 ** 30;

export async function downloadFile(egress: Egress, request: DownloadRequest): Promise<Download> {
  const { etag, last_modified, user_agent, signal } = request;
  let { address } = request;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const reply = await egress.exchange({
      url: address,
      method: "GET",
      headers: [
        ["User-Agent", user_agent],
        ["Accept", "*/*"],
        ...(etag === null ? [] : [["If-None-Match", etag] as const]),
        ...(last_modified === null ? [] : [["If-Modified-Since", last_modified] as const]),
      ],
      signal,
    });
    if (reply.kind === "failed") return { kind: "failed", problem: reply.problem };
    if (reply.status === 200) return received(reply, { ...request, address });
    reply.cancel();
    if (reply.status === 304) return { kind: "unchanged" };
    const location = reply.headers.get("location")?.[0];
    const next = REDIRECTS.has(reply.status) && location !== undefined ? URL.parse(location, address) : null;
    if (next === null || !/^https?:$/.test(next.protocol))
      return { kind: "failed", problem: `status ${reply.status}` };
    address = next.href;
  }
  return { kind: "failed", problem: `more than ${MAX_REDIRECTS} redirects` };
}

async function received(
  { headers, body, cancel }: ExchangeResponse,
  { address, path, signal }: DownloadRequest,
): Promise<Download> {
  const part = `${path}.part`;
  async function* limited(): AsyncIterable<Buffer> {
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > MAX_BYTES) throw new EgressError("network_protocol", `more than ${MAX_BYTES} bytes`);
      yield piece;
    }
  }
  try {
    await mkdir(dirname(path), { recursive: true });
    await pipeline(limited(), createWriteStream(part), { signal });
    await rename(part, path);
  } catch (problem) {
    cancel();
    return { kind: "failed", problem: (problem as Error).message };
  }
  const valueOf = (name: string): string | null => headers.get(name)?.[0] ?? null;
  return { kind: "downloaded", address, etag: valueOf("etag"), last_modified: valueOf("last-modified") };
}
