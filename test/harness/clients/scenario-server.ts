/**
 * The service as scenarios.jsonl scripts it: each request of a scenario takes the next answer of its address. It notes what a client asked beyond the script or
 * left unasked, and serves the table, the runner and the client's files to browsers. Errors and broken connections come from here; what the real service answers
 * is held in test/scenarios/.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** How an answer ends when not with its last byte: cut between or within results, with a line that is no JSON, left open, or before it has begun. */
type End = "cut" | "half" | "noise" | "open" | "no_answer" | "half_answer";

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A path of this service. */
  readonly location?: string;
  readonly body?: unknown;
  readonly text?: string;
  /** So many bytes. */
  readonly bytes?: number;
  /** Results of a job: those that are asked for, up to the second index. */
  readonly items?: readonly [from: number, to: number];
  readonly kind?: string;
  readonly title?: string;
  readonly padding?: number;
  readonly has_beats?: boolean;
  /** The body is written in pieces of this size. */
  readonly piece_bytes?: number;
  readonly end?: End;
}

/** A row of the table. */
export interface ClientScenario {
  readonly name: string;
  /** The clients that have it; left out: all. */
  readonly only?: "typescript";
  readonly answers: Readonly<Record<string, readonly Answer[]>>;
  /** Fields that the first request with a body has. */
  readonly sent?: Readonly<Record<string, unknown>>;
  /** Header fields that each request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** All requests that begin a job have one idempotency key, which the client draws. */
  readonly is_keyed?: boolean;
  readonly outcome: { readonly error?: object; readonly [kind: string]: unknown };
}

export const CLIENT_SCENARIOS: readonly ClientScenario[] = readFileSync(
  new URL("scenarios.jsonl", import.meta.url),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as ClientScenario);

/** A timer may be a little early. */
const EARLY_MS = 20;

/** Record of what a run of a scenario has asked. */
interface Course {
  readonly taken: Map<string, number>;
  readonly problems: string[];
  readonly keys: Set<unknown>;
  sent: unknown;
  not_before_ms: number;
  open: number;
}

export interface ScenarioServer {
  readonly url: string;
  /** Departures from the script, by scenario. Empty: there was none. */
  readonly problemsOf: (run: string, client: "typescript" | "python") => Readonly<Record<string, unknown>>;
  /** Answers that a client has left open. */
  readonly openOf: (run: string) => number;
  readonly close: () => void;
}

/** `files`: what is served to browsers, by path. */
export async function scenarioServer(files: Readonly<Record<string, string>>): Promise<ScenarioServer> {
  const courses = new Map<string, Course>();
  const courseOf = (run: string, at: string): Course => {
    const name = `${run}/${at}`;
    let course = courses.get(name);
    if (course === undefined) {
      course = {
        taken: new Map(),
        problems: [],
        keys: new Set(),
        sent: undefined,
        not_before_ms: 0,
        open: 0,
      };
      courses.set(name, course);
    }
    return course;
  };
  const server = createServer((request, response) => {
    const [, run = "", at = "", ...rest] = request.url!.split("/");
    const scenario = CLIENT_SCENARIOS[Number(at)];
    if (run === "files") return serveFile(files, request.url!, response);
    if (scenario === undefined) return void response.writeHead(404).end();
    const course = courseOf(run, at);
    course.open++;
    response.on("close", () => course.open--);
    const address = `/${rest.join("/")}`;
    void answerNext(scenario, course, request, response, address, `/${run}/${at}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    problemsOf: (run, client) =>
      Object.fromEntries(
        CLIENT_SCENARIOS.flatMap((scenario, at) => {
          if (scenario.only !== undefined && scenario.only !== client) return [];
          const problems = problemsIn(scenario, courseOf(run, String(at)));
          return problems.length === 0 ? [] : [[scenario.name, problems] as const];
        }),
      ),
    openOf: (run) =>
      [...courses].reduce((sum, [name, { open }]) => (name.startsWith(`${run}/`) ? sum + open : sum), 0),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function serveFile(files: Readonly<Record<string, string>>, path: string, response: ServerResponse): void {
  const file = files[path.slice("/files/".length)];
  const type = path.endsWith("js")
    ? "text/javascript"
    : path.endsWith("json")
      ? "application/json"
      : "text/html";
  response.writeHead(file === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(file);
}

/** The files of a browser's page: the client as it was packed, the runner and the table. */
export function browserFiles(
  client: string,
  names: readonly string[],
  runner: string,
): Readonly<Record<string, string>> {
  return {
    page: "<!doctype html><title>Scenarios</title>",
    "scenarios.json": JSON.stringify(CLIENT_SCENARIOS),
    "runner.mjs": runner,
    ...Object.fromEntries(names.map((name) => [name, readFileSync(join(client, name), "utf8")])),
  };
}

async function answerNext(
  scenario: ClientScenario,
  course: Course,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
  prefix: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(address, "http://service");
  const isResults = pathname.endsWith("/results");
  const key = `${request.method} ${isResults ? pathname : address}`;
  const sent = await text(request);
  checkRequest(scenario, course, request, sent);
  const taken = course.taken.get(key) ?? 0;
  const answer = scenario.answers[key]?.[taken];
  if (answer === undefined) {
    course.problems.push(`asked beyond the script: ${key}`);
    response.writeHead(418).end();
    return;
  }
  course.taken.set(key, taken + 1);
  const wait_s = Number(answer.headers?.["retry-after"]);
  course.not_before_ms = wait_s > 0 ? Date.now() + wait_s * 1_000 - EARLY_MS : 0;
  const from = Number(searchParams.get("from"));
  if (answer.items && (searchParams.get("follow") !== "true" || from > answer.items[0]))
    course.problems.push(`asked for results with ${searchParams.toString()}`);
  if (answer.items && taken === 0 && from !== answer.items[0])
    course.problems.push(`began with the result ${from}`);
  if (answer.end === "no_answer") return void request.socket.destroy();
  if (answer.end === "open" && !answer.items) return;
  response.writeHead(answer.status ?? 200, {
    "x-request-id": "req_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    // A browser repeats by itself what it lost on a connection that it had used before.
    connection: "close",
    ...(answer.location !== undefined && { location: prefix + answer.location }),
    ...answer.headers,
  });
  await writeBody(answer, from, response);
}

function checkRequest(
  scenario: ClientScenario,
  course: Course,
  request: IncomingMessage,
  sent: string,
): void {
  const { headers, method } = request;
  if (headers.authorization !== "Bearer sk_scenario") course.problems.push("asked without the key");
  for (const [name, value] of Object.entries(scenario.headers ?? {}))
    if (headers[name] !== value) course.problems.push(`asked with ${name}: ${String(headers[name])}`);
  if (Date.now() < course.not_before_ms) course.problems.push("asked again before Retry-After");
  if (sent === "") return;
  if (headers["content-type"] !== "application/json")
    course.problems.push(`sent as ${headers["content-type"]}`);
  const body = JSON.parse(sent) as Record<string, unknown>;
  course.sent ??= body;
  if (method === "POST") course.keys.add(body["idempotency_key"]);
}

function problemsIn(scenario: ClientScenario, course: Course): readonly string[] {
  const unasked = Object.entries(scenario.answers).flatMap(([key, answers]) => {
    const taken = course.taken.get(key) ?? 0;
    // The time of a call that gets no answer may be over before the request was sent.
    if (answers.every(({ end, items }) => end === "open" && !items)) return [];
    return taken === answers.length ? [] : [`asked ${taken} times of ${answers.length}: ${key}`];
  });
  const sent = (course.sent ?? {}) as Record<string, unknown>;
  const other = Object.entries(scenario.sent ?? {}).flatMap(([field, value]) =>
    JSON.stringify(sent[field]) === JSON.stringify(value)
      ? []
      : [`sent ${field}: ${JSON.stringify(sent[field])}`],
  );
  const [key] = course.keys;
  const isKeyed = course.keys.size === 1 && typeof key === "string" && key.length > 20;
  return [
    ...course.problems,
    ...unasked,
    ...other,
    ...(scenario.is_keyed && !isKeyed ? [`idempotency keys: ${JSON.stringify([...course.keys])}`] : []),
  ];
}

async function writeBody(answer: Answer, from: number, response: ServerResponse): Promise<void> {
  const write = (part: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => response.write(part, () => resolve()));
  if (answer.items) {
    await writeItems(answer, from, write);
    if (answer.end === "open") return;
    if (answer.end === "cut" || answer.end === "half") return void response.socket?.destroy();
    return void response.end();
  }
  if (answer.end === "half_answer") {
    await write('{"key":');
    return void response.socket?.destroy();
  }
  if (answer.bytes !== undefined) return void response.end(Buffer.alloc(answer.bytes, "a"));
  const whole = answer.text ?? (answer.body === undefined ? "" : JSON.stringify(answer.body));
  if (answer.piece_bytes === undefined) return void response.end(whole);
  await inPieces(whole, answer.piece_bytes, write);
  response.end();
}

type Write = (part: string | Uint8Array) => Promise<void>;

async function writeItems(answer: Answer, from: number, write: Write): Promise<void> {
  const { items, kind = "fetch", title = "T", padding = 0, has_beats, piece_bytes, end } = answer;
  const [, to] = items!;
  const text_of_page = "x".repeat(padding);
  const lineOf = (index: number): string =>
    `${JSON.stringify({
      index,
      kind,
      status: "done",
      error: null,
      input: { url: `https://a.test/${index}` },
      result: { url: `https://a.test/${index}`, title: `${title} ${index}`, text: text_of_page, error: null },
    })}\n${has_beats ? "\n" : ""}`;
  // A hundred lines a write: what the client has not read yet waits here.
  for (let first = from; first < to; first += 100) {
    const count = Math.min(100, to - first);
    const lines = Array.from({ length: count }, (_, n) => lineOf(first + n)).join("");
    await (piece_bytes === undefined ? write(lines) : inPieces(lines, piece_bytes, write));
  }
  if (end === "half") await write(lineOf(to).slice(0, 40));
  if (end === "noise") await write("<html>\n");
}

async function inPieces(whole: string, piece_bytes: number, write: Write): Promise<void> {
  const bytes = Buffer.from(whole);
  for (let at = 0; at < bytes.length; at += piece_bytes) await write(bytes.subarray(at, at + piece_bytes));
}
