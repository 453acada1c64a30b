/** A client in a run of chaos (chaos.ts): it repeats 429, 503, 504 and broken connections, as a client should, and keeps what it was told. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, request } from "undici";
import type { ClusterOf } from "./cluster-of.ts";

const RETRY_MS = 500;
/** Least number of tries: a request at the end of a run still gets an answer of a service that works. */
const MIN_TRIES = 3;

/** Answer that a client got to one of its requests. */
export interface ToldAnswer {
  readonly status: number;
  readonly isCached: boolean;
}

export interface ChaosClient {
  readonly cluster: Pick<ClusterOf, "url" | "key">;
  readonly dispatcher: Dispatcher;
  /** Whatever has no answer after so long is given up. */
  readonly timeout_ms: number;
  readonly note: (what: string) => void;
  /** Answers to requests that are billed, by request id. */
  readonly told: Map<string, ToldAnswer>;
  /** Why requests that are billed were repeated, and how often. */
  readonly retries: Map<string, number>;
}

interface Question<T> {
  readonly path: string;
  /** Absent: a GET. */
  readonly body?: object;
  /** Whether the request has a row in the ledger. Default: no. */
  readonly isBilled?: boolean;
  /** Why an answer of 200 is no result yet; null: it is one. May throw. */
  readonly problemOf?: (answer: T) => string | null;
  /** Unix milliseconds. Default: after the client's timeout. */
  readonly ends_ms?: number;
}

/** The answer, after as many tries as it takes; null: it was given up. Throws any other status than 2xx, 429, 503 and 504. */
export async function insist<T extends object>(
  client: ChaosClient,
  question: Question<T>,
): Promise<T | null> {
  const { timeout_ms, note } = client;
  const { path, isBilled = false, ends_ms = Date.now() + timeout_ms } = question;
  for (let tries = 0; tries < MIN_TRIES || Date.now() < ends_ms; tries++) {
    const tried = await once(client, question);
    if (tried.kind === "answered") return tried.answer;
    if (isBilled) client.retries.set(tried.problem, (client.retries.get(tried.problem) ?? 0) + 1);
    await sleep(RETRY_MS);
  }
  note(`gave up on ${path} ${JSON.stringify(question.body ?? "")}`);
  return null;
}

type Tried<T> =
  | { readonly kind: "answered"; readonly answer: T }
  | { readonly kind: "again"; readonly problem: string };

async function once<T extends object>(
  { cluster: { url, key }, dispatcher, timeout_ms, told }: ChaosClient,
  { path, body, isBilled, problemOf = () => null }: Question<T>,
): Promise<Tried<T>> {
  try {
    const {
      statusCode: status,
      headers,
      body: content,
    } = await request(`${url}${path}`, {
      dispatcher,
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}` },
      ...(body && { body: JSON.stringify(body) }),
      headersTimeout: timeout_ms,
    });
    const answer = (await content.json()) as T;
    const isCached = "cached" in answer && answer.cached === true;
    if (isBilled) told.set(String(headers["x-request-id"]), { status, isCached });
    // While the rates of a project move to another node, a gateway admits no more than its last share of them.
    if (status === 429 || status === 503 || status === 504) return { kind: "again", problem: `${status}` };
    if (status >= 300)
      throw new Error(`"${path}" is answered ${status}: ${JSON.stringify(answer).slice(0, 500)}`);
    const problem = problemOf(answer);
    return problem === null ? { kind: "answered", answer } : { kind: "again", problem };
  } catch (problem) {
    if (problem instanceof Error && "code" in problem)
      return { kind: "again", problem: String(problem.code) };
    throw problem;
  }
}
