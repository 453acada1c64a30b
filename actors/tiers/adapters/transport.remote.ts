/**
 * The route `browser` of a worker that has no browser: another node renders (the role browser), this one keeps every
 * decision. The runner asks back before each document (`enter`), immediately before each request (`sending`), and says
 * when it is over (`left`); robots, slot and fence are the worker's. A page over BODY_INLINE_BYTES comes by the body
 * store.
 */
import type { Bodies } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Errand, Errands } from "../../../cluster/ports/role-workers.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type {
  Entry,
  OriginAnswer,
  Transport,
  Transported,
  TransportRequest,
} from "../../lib/web/transport.ts";

export const BROWSER_ERRAND = "browser";

/** What a runner is told of a request; the rest it asks for. */
type Wishes = Pick<TransportRequest, "url" | "max_bytes" | "accept_language" | "user_agent" | "country">;

type Question =
  | { readonly do: "enter"; readonly url: string }
  | { readonly do: "sending" | "sent"; readonly entry: number }
  | { readonly do: "left"; readonly entry: number; readonly answer: OriginAnswer };

type Entered =
  | { readonly kind: "entered"; readonly entry: number }
  | Extract<Entry, { readonly kind: "refused" }>;

type Page = Extract<Transported, { readonly kind: "page" }>;
type Wired =
  | Exclude<Transported, Page>
  | (Omit<Page, "headers" | "body"> & {
      readonly headers: readonly (readonly [string, string])[];
      readonly body: { readonly base64: string } | { readonly sha256: string };
    });

/** With what stands around it in base64 it fits a message of 256 KB. */
const BODY_INLINE_BYTES = 160 * 1024;
/** A leave may stand in a domain's queue for a minute (batch), behind a reading of robots.txt. */
const ENTER_WAIT_MS = 120_000;
/** The fence's margin is 600 ms: who is told later than this that it may send must not. */
const SENDING_WAIT_MS = 400;
const LEFT_WAIT_MS = 2_000;

/** On the worker. */
export function remoteBrowser({
  errands,
  bodies,
  clock,
}: {
  readonly errands: Errands;
  readonly bodies: Bodies;
  readonly clock: Clock;
}): Transport {
  return async (request) => {
    const began_ms = clock.mono();
    const entries: Extract<Entry, { kind: "entered" }>[] = [];
    const open = new Set<number>();
    const leave = (entry: number, said: OriginAnswer): void => {
      if (open.delete(entry)) entries[entry]!.left(said);
    };
    const failed = (reason: string, detail: string): Transported => ({
      kind: "failed",
      reason,
      status: null,
      redirects: [],
      final_url: null,
      detail,
      ms: Math.round(clock.mono() - began_ms),
    });

    /** A bug of ours in an `enter` must break the climb here, not only the page there. */
    let broken: { readonly problem: unknown } | null = null;
    async function answer(asked: string): Promise<string> {
      const question = JSON.parse(asked) as Question;
      switch (question.do) {
        case "enter": {
          const entry = await request.enter(question.url).catch((problem: unknown) => {
            broken = { problem };
            throw problem;
          });
          if (entry.kind === "refused") return JSON.stringify(entry satisfies Entered);
          entries.push(entry);
          open.add(entries.length - 1);
          return JSON.stringify({ kind: "entered", entry: entries.length - 1 } satisfies Entered);
        }
        case "sending":
          return JSON.stringify(open.has(question.entry) && (await entries[question.entry]!.sending()));
        case "sent":
          if (open.has(question.entry)) entries[question.entry]!.sent();
          return "null";
        case "left":
          leave(question.entry, question.answer);
          return "null";
      }
    }

    const { url, max_bytes, accept_language, user_agent, country, signal } = request;
    const wishes: Wishes = { url, max_bytes, accept_language, user_agent, country };
    try {
      const end = await errands.send(BROWSER_ERRAND, JSON.stringify(wishes), { answer, signal });
      if (broken !== null) throw (broken as { problem: unknown }).problem;
      if (signal.aborted)
        return failed("timeout", "The deadline passed while another node rendered the page");
      switch (end.kind) {
        case "done":
          return await unwired(JSON.parse(end.body) as Wired, bodies);
        case "nobody":
          return failed("browser_unavailable", "No node with the role browser is there");
        case "busy":
          return failed("browser_unavailable", "All nodes with the role browser are busy");
        case "lost":
          return failed("browser_unavailable", "The node that rendered the page is gone");
      }
    } finally {
      for (const entry of open) entries[entry]!.left({ status: null, retry_after_s: null });
    }
  };
}

/** On a node with a browser: runs what workers send. */
export function renderErrand({
  transport,
  bodies,
  clock,
}: {
  readonly transport: Transport;
  readonly bodies: Bodies;
  readonly clock: Clock;
}): (errand: Errand) => Promise<string> {
  return async ({ body, ask, signal }) => {
    const wishes = JSON.parse(body) as Wishes;
    const asked = async <T>(question: Question, wait_ms: number): Promise<T> =>
      JSON.parse(await ask(JSON.stringify(question), wait_ms)) as T;
    const result = await transport({
      ...wishes,
      validators: null,
      signal,
      async enter(url) {
        const answer = await asked<Entered>({ do: "enter", url }, ENTER_WAIT_MS);
        if (answer.kind === "refused") return answer;
        const { entry } = answer;
        return {
          kind: "entered",
          async sending() {
            const asked_ms = clock.mono();
            const may = await asked<boolean>({ do: "sending", entry }, SENDING_WAIT_MS).catch(() => false);
            return may && clock.mono() - asked_ms < SENDING_WAIT_MS;
          },
          // Untold, a request counts as sent when it is left, and is left when the errand is over.
          sent: () => void asked({ do: "sent", entry }, LEFT_WAIT_MS).catch(() => {}),
          left: (said) => void asked({ do: "left", entry, answer: said }, LEFT_WAIT_MS).catch(() => {}),
        };
      },
    });
    return JSON.stringify(await wired(result, bodies));
  };
}

async function wired(result: Transported, bodies: Bodies): Promise<Wired> {
  if (result.kind !== "page") return result;
  const { headers, body, ...page } = result;
  return {
    ...page,
    headers: [...headers],
    body:
      body.length <= BODY_INLINE_BYTES
        ? { base64: body.toString("base64") }
        : { sha256: (await bodies.put(body)).sha256 },
  };
}

async function unwired(result: Wired, bodies: Bodies): Promise<Transported> {
  if (result.kind !== "page") return result;
  const { headers, body, ...page } = result;
  return {
    ...page,
    headers: new Map(headers),
    body: "base64" in body ? Buffer.from(body.base64, "base64") : await stored(body.sha256, bodies),
  };
}

async function stored(sha256: string, bodies: Bodies): Promise<Buffer> {
  const pieces = await bodies.get(sha256);
  if (pieces === null)
    throw new Fault("bodies_unreachable", `Cannot read the rendered page "${sha256}": it is not there`);
  return Buffer.concat(await Array.fromAsync(pieces));
}
