/** Batch jobs over HTTP for scenarios: creates, reads and awaits them, and receives their callbacks. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchBody } from "../../schemas/fetch.ts";
import type { JobItem, JobStatus } from "../../schemas/jobs.ts";
import type { HttpResponse } from "./http-response.ts";
import type { Service } from "./service.ts";

let keys = 0;

export function client(service: Pick<Service, "call">) {
  const create = (items: readonly FetchBody[], more: object = {}): Promise<HttpResponse> => {
    const body = { items, idempotency_key: `key-${keys++}`, ...more };
    return service.call("POST", "/v1/batch/fetch", { body });
  };
  const read = async (job_id: string, query = ""): Promise<JobStatus> => {
    const reply = await service.call("GET", `/v1/jobs/${job_id}${query}`);
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.bytes.toString()}`);
    const { counts } = reply.json as JobStatus;
    const sum = counts.pending + counts.queued + counts.done + counts.failed + counts.cancelled;
    if (sum !== counts.total) throw new Error(`The counts do not add up: ${JSON.stringify(counts)}`);
    return reply.json as JobStatus;
  };
  return {
    create,
    read,
    async finished(job_id: string, within_ms = 60_000): Promise<JobStatus> {
      for (const began = performance.now(); performance.now() - began < within_ms; await sleep(100)) {
        const job = await read(job_id).catch(() => null);
        if (job?.finished_at != null) return job;
      }
      const { counts, items } = await read(job_id, "?include=items");
      const open = items!.filter(({ status }) => status === "pending" || status === "queued");
      throw new Error(
        `The job is not finished: ${JSON.stringify(counts)}, of its first items ${JSON.stringify(open)}`,
      );
    },
    async items(job_id: string, query = ""): Promise<JobItem[]> {
      const items: JobItem[] = [];
      for (let offset = 0; ; offset += 100) {
        const job = await read(job_id, `?include=items&offset=${offset}${query}`);
        items.push(...job.items!);
        if (offset + 100 >= job.counts.total) return items;
      }
    },
  };
}

export interface Receiver {
  readonly url: string;
  readonly received: any[];
  /** Texts of the received bodies as they were sent, and the X-Service-Signature of each. */
  readonly texts: string[];
  readonly signatures: string[];
  /** The status of its answers; null: it does not answer. */
  status: number | null;
  readonly server: Server;
}

export async function receiver(status: number | null = 204): Promise<Receiver> {
  const received: any[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      received.push(JSON.parse(text));
      handle.texts.push(text);
      handle.signatures.push(String(request.headers["x-service-signature"]));
      if (handle.status !== null) response.writeHead(handle.status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const handle: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    texts: [],
    signatures: [],
    status,
    server,
  };
  return handle;
}
