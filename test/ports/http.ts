/** What the HTTP port promises, tried byte by byte on whichever adapter is handed in. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Listen, Listening } from "../../gateway/http.ts";
import { application, type Application } from "../http/application.ts";
import { converse, type Outcome, type Step } from "../http/wire.ts";

interface Expected {
  /** Any of these; null: no answer. */
  readonly status: readonly (number | null)[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly absent?: readonly string[];
  readonly body?: string;
  readonly body_hex?: string;
  readonly body_sha256?: string;
  readonly body_json?: Readonly<Record<string, unknown>>;
  readonly body_json_header?: Readonly<Record<string, string>>;
  readonly connection?: "open" | "closed";
  readonly responses?: number;
  readonly at_most?: number;
  readonly last_status?: number;
  readonly interim?: number;
  /** The call's signal fires. */
  readonly gone?: boolean;
  /** The answer is cut. */
  readonly partial?: boolean;
  /** How many streams were begun; all of them must have been stopped. */
  readonly streams?: number;
  /** What was reported, in part; [] for nothing. */
  readonly failed?: readonly string[];
  /** How often the application was asked with a body. */
  readonly answers?: number;
}

export interface WireCase {
  readonly id: string;
  readonly send: readonly Step[];
  readonly expect: Expected;
}

interface TextCase {
  readonly id: string;
  readonly text: string;
  readonly utf8_hex: string;
}
interface ValueCase {
  readonly id: string;
  readonly value: string;
  /** null: refused with 500, and nothing of the value sent. */
  readonly wire_hex: string | null;
}

interface Texts {
  readonly texts: readonly TextCase[];
  readonly headers: readonly ValueCase[];
}

const OWN = new URL("../fixtures/http/", import.meta.url);
const SHARED = new URL("../../../shared/fixtures/gateway/", import.meta.url);
const read = (url: URL) => JSON.parse(readFileSync(url, "utf8"));
const own: { cases: WireCase[] } = read(new URL("wire.json", OWN));
const ownText: Texts = read(new URL("text.json", OWN));

export function httpSuite(name: string, listen: Listen): void {
  describe(`HTTP on ${name}`, () => {
    const open: Listening[] = [];
    // The wire's runs close what they open; this is for the others.
    afterEach(async () => void (await Promise.all(open.splice(0).map((listening) => listening.close(0)))));

    async function serve(): Promise<Application & Listening> {
      const app = application();
      const options = { host: "127.0.0.1", port: 0, shared: false, failed: app.failed };
      const listening = await listen(app.admit, options);
      open.push(listening);
      return { ...app, ...listening };
    }

    describe("byte by byte", () => {
      onTheWire(serve, own.cases, ownText);
    });

    describe.skipIf(!existsSync(SHARED))(
      "byte by byte, shared (../shared/fixtures, when it is there)",
      () => {
        if (existsSync(SHARED))
          onTheWire(serve, read(new URL("http-wire.json", SHARED)).cases, read(new URL("utf8.json", SHARED)));
      },
    );
  });
}

/** All at once, for most of a case is waiting to see what does not happen; then each is judged by itself. */
function onTheWire(serve: Serve, cases: readonly WireCase[], { texts, headers }: Texts): void {
  const runs = new Map<WireCase, Promise<Run>>();
  beforeAll(async () => {
    for (const wireCase of cases) runs.set(wireCase, run(serve, wireCase));
    await Promise.allSettled(runs.values());
  });
  test.each(cases)("$id", async (wireCase) => {
    const whole = (await runs.get(wireCase))!;
    expect(readOff(whole, wireCase.expect)).toEqual(wireCase.expect);
    expect(whole.seen.stopped).toBe(whole.seen.begun);
  });
  test.each(texts)("writes $id as UTF-8", async ({ text, utf8_hex }) => {
    const { port } = await serve();
    const { answers } = await get(port, `/utf8?text=${encodeURIComponent(text)}`);
    const expected = Buffer.from(JSON.stringify({ text }));
    expect(Buffer.from(text).toString("hex")).toBe(utf8_hex);
    expect(answers[0]!.body.toString("hex")).toBe(expected.toString("hex"));
    expect(Object.fromEntries(answers[0]!.headers)["content-length"]).toBe(String(expected.length));
  });
  test.each(headers)("header value: $id", async ({ value, wire_hex }) => {
    const { port, seen } = await serve();
    const { answers } = await get(port, `/value?value=${encodeURIComponent(value)}`);
    const sent = Object.fromEntries(answers[0]!.headers)["x-a"];
    const hex = sent === undefined ? null : Buffer.from(sent, "latin1").toString("hex");
    expect({ status: answers[0]!.status, hex, failed: seen.failed.length }).toEqual(
      wire_hex === null ? { status: 500, hex: null, failed: 1 } : { status: 200, hex: wire_hex, failed: 0 },
    );
  });
}

type Serve = () => Promise<Application & Listening>;

const get = (port: number, target: string) =>
  converse(port, [`GET ${target} HTTP/1.1\r\nHost: trawl.test\r\n\r\n`], { answers: 1, quiet_ms: 0 });

interface Run {
  readonly outcome: Outcome;
  readonly seen: Application["seen"];
}

async function run(serve: Serve, { send, expect: expected }: WireCase): Promise<Run> {
  const { seen, port, close } = await serve();
  const silent = expected.status.includes(null);
  const quiet_ms = silent || expected.connection ? 700 : 50;
  const outcome = await converse(port, send, { answers: silent ? 0 : (expected.responses ?? 1), quiet_ms });
  await close(0);
  return { outcome, seen };
}

const some = (all: Readonly<Record<string, unknown>>, wanted: object) =>
  Object.fromEntries(Object.keys(wanted).map((key) => [key, all[key]]));
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** How each expectation is read off what happened: it comes out equal to what was expected, or the test fails. */
const READ: { [Key in keyof Expected]-?: (run: Run, wanted: NonNullable<Expected[Key]>) => unknown } = {
  status: ({ outcome }, wanted) => oneOf(wanted, outcome.answers[0]?.status ?? null),
  headers: (whole, wanted) => some(once(whole), wanted),
  absent: (whole, wanted) => wanted.filter((field) => !(field in once(whole))),
  body: (whole) => first(whole).body.toString("latin1"),
  body_hex: (whole) => first(whole).body.toString("hex"),
  body_sha256: (whole) => sha256(first(whole).body),
  body_json: (whole, wanted) => some(JSON.parse(first(whole).body.toString()), wanted),
  body_json_header: (whole, wanted) => some(JSON.parse(first(whole).body.toString()).headers, wanted),
  connection: ({ outcome }) => outcome.connection,
  responses: ({ outcome }) => outcome.answers.length,
  at_most: ({ outcome }, wanted) => Math.max(wanted, outcome.answers.length),
  last_status: ({ outcome }) => outcome.answers.at(-1)?.status,
  interim: ({ outcome }) => outcome.interim[0],
  gone: ({ seen }) => seen.gone === 1,
  partial: (whole) => first(whole).partial,
  streams: ({ seen }) => seen.begun,
  failed: ({ seen }, wanted) =>
    seen.failed.length === wanted.length && wanted.every((part, index) => seen.failed[index]!.includes(part))
      ? wanted
      : seen.failed,
  answers: ({ seen }) => seen.answers,
};

const oneOf = <T>(wanted: readonly T[], value: T) => (wanted.includes(value) ? wanted : value);
const first = ({ outcome }: Run) => outcome.answers[0]!;
/** Fields by name; one that was sent twice shows both its values. */
const once = (whole: Run): Record<string, string> =>
  Object.fromEntries(
    Map.groupBy(first(whole).headers, ([name]) => name)
      .entries()
      .map(([name, fields]) => [name, fields.map(([, value]) => value).join(" and ")]),
  );

function readOff(whole: Run, expected: Expected): unknown {
  const found = Object.entries(expected).map(([key, wanted]) => [
    key,
    READ[key as keyof Expected](whole, wanted as never),
  ]);
  return Object.fromEntries(found);
}
