/**
 * Promises of every egress adapter (cluster/ports/egress.ts). What only real sockets can show (pinning, codings,
 * time-outs) is in test/cluster/adapters/egress.
 */
import { expect, test } from "vitest";
import { type Egress, EgressError, type Exchange, type ExchangeRequest } from "../../cluster/ports/egress.ts";

/** Answer of the world of the suite at a path. */
export interface Page {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** The body is sent again and again. */
  readonly endless?: boolean;
  /** The connection breaks when the body has been sent. */
  readonly breaks?: boolean;
}

/** The world the suite needs, played by the suite's caller. */
export const PAGES: Readonly<Record<string, Page>> = {
  "/page": {
    status: 200,
    headers: { "Content-Type": "text/html", "X-Mixed-Case": "Yes" },
    body: Buffer.from("hello"),
  },
  "/gone": { status: 410, body: Buffer.from("gone") },
  "/moved": { status: 302, headers: { Location: "/page" } },
  "/nothing": { status: 204 },
  "/long": { status: 200, body: Buffer.alloc(1_000_000, "0123456789") },
  "/endless": { status: 200, body: Buffer.alloc(100_000, "0123456789"), endless: true },
  "/broken": { status: 200, body: Buffer.from("half"), breaks: true },
};

export interface EgressWorld {
  readonly egress: Egress;
  readonly origin: string;
}

type Answered = Extract<Exchange, { kind: "answered" }>;

function answered(exchange: Exchange): Answered {
  if (exchange.kind !== "answered") throw new Error(`Expected an answer: ${exchange.detail}`);
  return exchange;
}

const read = async ({ body }: Answered): Promise<string> =>
  Buffer.concat(await Array.fromAsync(body)).toString();

export function egressSuite(open: () => Promise<EgressWorld>): void {
  const world = open();
  const ask = async (path: string, more: Partial<ExchangeRequest> = {}) => {
    const { egress, origin } = await world;
    return egress.exchange({
      url: path.includes(":") ? path : `${origin}${path}`,
      method: "GET",
      headers: [["User-Agent", "suite"]],
      signal: new AbortController().signal,
      ...more,
    });
  };
  test("answers with status, fields in lower case and the body", async () => {
    const page = answered(await ask("/page"));
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toEqual(["text/html"]);
    expect(page.headers.get("x-mixed-case")).toEqual(["Yes"]);
    expect(await read(page)).toBe("hello");
  });

  test("gives the origin's no as an answer", async () => {
    const page = answered(await ask("/gone"));
    expect([page.status, await read(page)]).toEqual([410, "gone"]);
  });

  test("calls beforeSend once and onSent after it, and sends nothing when beforeSend refuses", async () => {
    const events: string[] = [];
    const sending = () => events.push("sending") === 1;
    const sent = () => void events.push("sent");
    const page = answered(await ask("/page", { beforeSend: sending, onSent: sent }));
    expect(await read(page)).toBe("hello");
    expect(events).toEqual(["sending", "sent"]);
    expect(await ask("/page", { beforeSend: sending, onSent: sent })).toMatchObject({
      kind: "failed",
      problem: "aborted",
    });
    expect(events).toEqual(["sending", "sent", "sending"]);
    expect(await read(answered(await ask("/page")))).toBe("hello");
  });

  test("does not follow a redirect", async () => {
    const page = answered(await ask("/moved"));
    expect([page.status, page.headers.get("location")]).toEqual([302, ["/page"]]);
    page.cancel();
  });

  test("reads an empty body as empty", async () => {
    expect(await read(answered(await ask("/nothing")))).toBe("");
  });

  test("gives a long body whole", async () => {
    expect((await read(answered(await ask("/long")))).length).toBe(1_000_000);
  });

  test("reports that a name does not exist", async () => {
    expect(await ask("http://nowhere.invalid/")).toMatchObject({ kind: "failed", problem: "dns_nxdomain" });
  });

  test("does not begin once its signal has been given", async () => {
    expect(await ask("/page", { signal: AbortSignal.abort() })).toMatchObject({
      kind: "failed",
      problem: "aborted",
    });
  });

  test("throws aborted into a body whose signal is aborted", async () => {
    const controller = new AbortController();
    const page = answered(await ask("/endless", { signal: controller.signal }));
    const reading = (async () => {
      for await (const _ of page.body) controller.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: "EgressError", problem: "aborted" });
  });

  test("throws an EgressError into a body that breaks, after its received bytes", async () => {
    const page = answered(await ask("/broken"));
    const pieces: Buffer[] = [];
    const end = await (async () => {
      for await (const piece of page.body) pieces.push(piece);
    })().catch((problem: unknown) => problem);
    expect(end).toBeInstanceOf(EgressError);
    expect(end).toMatchObject({ problem: "network_reset" });
    expect(Buffer.concat(pieces).toString()).toBe("half");
  });

  test("can be asked again when a reader stopped early", async () => {
    const page = answered(await ask("/long"));
    for await (const _ of page.body) break;
    expect(await read(answered(await ask("/page")))).toBe("hello");
  });

  test("can be asked again when a body was let go unread", async () => {
    answered(await ask("/long")).cancel();
    expect(await read(answered(await ask("/page")))).toBe("hello");
  });
}
