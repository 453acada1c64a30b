/** Sends bytes to a server as a table says, and reads what comes back byte by byte: no client of ours in between. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { sip } from "./clients.ts";
import { setTimeout as wait } from "node:timers/promises";

export type Step =
  | string
  | { readonly repeat: string; readonly times: number }
  | { readonly wait_ms: number }
  /** Waits for so many whole answers. */
  | { readonly answers: number }
  | { readonly half_close: true }
  | { readonly close: true }
  | { readonly read_bytes: number }
  | { readonly read_slowly_bytes_per_s: number };

export interface Answer {
  readonly status: number;
  /** In the order they came, names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  body: Buffer;
  /** Cut before its end. */
  partial: boolean;
}

export interface Outcome {
  readonly interim: number[];
  readonly answers: Answer[];
  readonly connection: "open" | "closed";
}

const PATIENCE_MS = 8_000;

/** As much as can be read of the answers to these methods; the last may be partial. */
export function parse(bytes: Buffer, methods: readonly string[]): Pick<Outcome, "interim" | "answers"> {
  const interim: number[] = [];
  const answers: Answer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const [line, ...fields] = bytes.toString("latin1", at, end).split("\r\n");
    const status = Number(line!.split(" ")[1]);
    at = end + 4;
    if (status < 200) {
      interim.push(status);
      continue;
    }
    const headers = fields.map((field) => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const;
    });
    const value = (name: string) => headers.find(([found]) => found === name)?.[1];
    const answer: Answer = { status, headers, body: Buffer.alloc(0), partial: false };
    const method = methods[answers.push(answer) - 1];
    if (method === "HEAD" || status === 204 || status === 304) continue;
    if (value("transfer-encoding") === "chunked") {
      const pieces: Buffer[] = [];
      for (answer.partial = true; answer.partial;) {
        const line_end = bytes.indexOf("\r\n", at);
        if (line_end < 0) break;
        const size = Number.parseInt(bytes.toString("latin1", at, line_end), 16);
        // The line break after a chunk may come with the next one.
        if (line_end + 2 + size > bytes.length) break;
        pieces.push(bytes.subarray(line_end + 2, line_end + 2 + size));
        at = line_end + 4 + size;
        if (size === 0) answer.partial = false;
      }
      answer.body = Buffer.concat(pieces);
      if (answer.partial) break;
    } else {
      const length = Number(value("content-length") ?? Number.POSITIVE_INFINITY);
      answer.body = bytes.subarray(at, Math.min(bytes.length, at + length));
      answer.partial = answer.body.length < length && Number.isFinite(length);
      at += answer.body.length;
    }
  }
  return { interim, answers };
}

/** Waits for so many answers, then for so long to see whether the connection stays open. */
export interface Timeouts {
  readonly answers: number;
  readonly quiet_ms: number;
}

async function until(enough: () => boolean, most_ms: number): Promise<void> {
  for (let waited_ms = 0; waited_ms < most_ms && !enough(); waited_ms += 10) await wait(10);
}

export async function converse(port: number, steps: readonly Step[], timeouts: Timeouts): Promise<Outcome> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const pieces: Buffer[] = [];
  let received = 0;
  let closed = false;
  let left = false;
  socket.on("error", () => (closed = true));
  socket.on("close", () => (closed = true));
  socket.on("end", () => (closed = true));
  socket.on("data", (piece) => {
    pieces.push(piece as Buffer);
    received += piece.length;
    if (received >= pause_bytes) socket.pause();
  });
  const stops = steps.find((step) => typeof step === "object" && "read_bytes" in step) as {
    read_bytes: number;
  };
  const pause_bytes = stops?.read_bytes ?? Infinity;
  const sent = steps.map((step) => (typeof step === "string" ? step : "")).join("");
  const methods = [...sent.matchAll(/([A-Z]+) \S+ HTTP\/1\.1\r\n/g)].map(([, method]) => method!);
  const read = () => parse(Buffer.concat(pieces), methods);
  const isWhole = (count: number): boolean => {
    const { answers } = read();
    return closed || (answers.length >= count && !answers.at(-1)!.partial);
  };

  await once(socket, "connect");
  for (const step of steps) {
    if (closed) break;
    if (typeof step === "string") await write(socket, Buffer.from(step, "latin1"));
    else if ("repeat" in step) await write(socket, Buffer.from(step.repeat.repeat(step.times), "latin1"));
    else if ("wait_ms" in step) await wait(step.wait_ms);
    else if ("answers" in step) await until(() => isWhole(step.answers), PATIENCE_MS);
    else if ("half_close" in step) socket.end();
    else if ("close" in step) {
      socket.destroy();
      left = true;
    } else if ("read_bytes" in step) await until(() => received >= step.read_bytes, PATIENCE_MS);
    else void sip(socket, Infinity, step.read_slowly_bytes_per_s);
  }
  if (!left) {
    if (timeouts.answers > 0) await until(() => isWhole(timeouts.answers), PATIENCE_MS);
    // Whether it stays open shows only when it has had the time to close.
    await until(() => closed, timeouts.quiet_ms);
  } else await wait(200);
  socket.destroy();
  return { ...read(), connection: closed || left ? "closed" : "open" };
}

const write = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => socket.write(bytes, () => resolve()));
