import { runInNewContext } from "node:vm";

/** Tasks that behave as hostile input makes them behave. Loaded by the children and by the inline adapter alike. */
const hold: unknown[] = [];
export const WARM_UP_MESSAGES = 100;

export const tasks = {
  plain: async () => plain,
  /** Its warm-up takes 100 messages; it tells how many tasks its child has carried out before. */
  warmed: async () => {
    let carried_out = 0;
    return async (message: Message, cpu_ms: () => number) => {
      if (message.do === "count") return { pid: process.pid, before: carried_out++ };
      carried_out++;
      return plain(message, cpu_ms);
    };
  },
  // A pool whose children cannot even load their task.
  broken: async (): Promise<never> => {
    throw new Error("Cannot load the library");
  },
};

export const warm_ups = {
  warmed: async (): Promise<readonly Message[]> =>
    Array.from({ length: WARM_UP_MESSAGES }, () => ({ do: "work", ms: 1 })),
};

type Message =
  | { do: "count" }
  | { do: "echo"; value: unknown }
  | { do: "length"; bytes: Uint8Array; other?: Uint8Array }
  | {
      do:
        | "hang"
        | "throw"
        | "exit"
        | "abort"
        | "arrays"
        | "strings"
        | "buffers"
        | "one_buffer"
        | "uncloneable"
        | "grow"
        | "litter";
    }
  | { do: "wait" | "work"; ms: number }
  | { do: "what"; of: "pid" | "environment" | "cpu" | "forbidden" | "gc" };

async function plain(message: Message, cpu_ms: () => number): Promise<unknown> {
  switch (message.do) {
    case "count":
      return 0;
    case "echo":
      return message.value;
    case "length":
      return {
        bytes: message.bytes.length,
        other: message.other?.length ?? null,
        last: message.bytes.at(-1),
        own: message.bytes.byteLength === message.bytes.buffer.byteLength,
      };
    case "hang":
      for (;;);
    case "throw":
      throw new RangeError("Invalid page");
    case "exit":
      return process.exit(7);
    case "abort":
      return process.abort();
    case "arrays":
      for (;;) hold.push(Array.from({ length: 1_000 }, () => hold.length));
    case "strings":
      for (;;) hold.push(`${hold.length} `.padStart(100_000, String(hold.length)));
    case "buffers":
      for (;;) hold.push(Buffer.alloc(2 ** 20, 1));
    case "one_buffer":
      // Faster than the parent measures: 20 GB before its first look.
      return Array.from({ length: 20 }, () => Buffer.alloc(2 ** 30).length);
    case "grow":
      hold.push(Buffer.alloc(300 * 2 ** 20, 1));
      return process.pid;
    case "litter": {
      // 100 MB of objects that the task holds until its end.
      const litter = Array.from({ length: 1_000_000 }, (_, number) => ({ number, a: 1, b: 2, c: 3 }));
      return [process.pid, litter.length];
    }
    case "uncloneable":
      return () => 1;
    case "wait":
      return new Promise((resolve) => setTimeout(resolve, message.ms, "waited"));
    case "work":
      while (cpu_ms() < message.ms);
      return "worked";
    case "what":
      return about(message.of, cpu_ms);
  }
}

async function about(what: "pid" | "environment" | "cpu" | "forbidden" | "gc", cpu_ms: () => number) {
  if (what === "pid") return process.pid;
  if (what === "cpu") return cpu_ms();
  // A new context has the functions of the options that are set by then.
  if (what === "gc") return runInNewContext("typeof gc") as string;
  if (what === "environment") return Object.keys(process.env).filter((name) => !name.startsWith("NODE_"));
  const { readFile, writeFile } = await import("node:fs/promises");
  const { execFile } = await import("node:child_process");
  const tries = {
    read: () => readFile("/etc/hostname"),
    write: () => writeFile(new URL("./escaped.txt", import.meta.url), ""),
    start: async () => execFile("/bin/true"),
    fetch: async () => fetch("http://127.0.0.1:9"),
  };
  const outcomes = Object.entries(tries).map(async ([name, attempt]) => {
    const outcome = await attempt().then(
      () => "allowed",
      (cause: Error & { code?: string }) => cause.code ?? cause.name,
    );
    return [name, outcome];
  });
  return Object.fromEntries(await Promise.all(outcomes)) as unknown;
}
