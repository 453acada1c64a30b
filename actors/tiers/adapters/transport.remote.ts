/**
 * The route `browser` of a worker without a browser: a node with the role `browser` renders, and this worker keeps all
 * decisions. The renderer asks the worker before each document (`admit`) and immediately before each request
 * (`before_send`), and reports when it is done (`release`), so that robots.txt, slot and fencing stay with the worker. A
 * body over BODY_INLINE_BYTES is passed through the blob store.
 */
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { RemoteTask, RemoteTasks } from "../../../cluster/ports/role-workers.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type {
  Admission,
  OriginAnswer,
  Transport,
  TransportResult,
  TransportRequest,
} from "../../lib/web/transport.ts";

export const BROWSER_TASK = "browser";

/** What the renderer gets of a request; it asks for the rest. */
type RenderRequest = Pick<
  TransportRequest,
  "url" | "max_bytes" | "accept_language" | "user_agent" | "country"
>;

type WorkerRequest =
  | { readonly do: "admit"; readonly url: string }
  | { readonly do: "before_send" | "sent"; readonly admission: number }
  | { readonly do: "release"; readonly admission: number; readonly answer: OriginAnswer };

type AdmissionReply =
  | { readonly kind: "admitted"; readonly admission: number }
  | Extract<Admission, { readonly kind: "refused" }>;

type Page = Extract<TransportResult, { readonly kind: "page" }>;
type EncodedResult =
  | Exclude<TransportResult, Page>
  | (Omit<Page, "headers" | "body"> & {
      readonly headers: readonly (readonly [string, string])[];
      readonly body: { readonly base64: string } | { readonly sha256: string };
    });

/** In base64 with its fields, this still fits into a message of 256 KB. */
const BODY_INLINE_BYTES = 160 * 1024;
/** A permit may wait in a domain's queue for a minute (batch), after robots.txt was loaded. */
const ADMIT_TIMEOUT_MS = 120_000;
/** A lease has a safety margin of 600 ms: a renderer that gets the answer later than this must not send. */
const BEFORE_SEND_TIMEOUT_MS = 400;
const RELEASE_TIMEOUT_MS = 2_000;

/** The worker's side. */
export function remoteBrowser({
  remoteTasks,
  blobs,
  clock,
}: {
  readonly remoteTasks: RemoteTasks;
  readonly blobs: Blobs;
  readonly clock: Clock;
}): Transport {
  return async (request) => {
    const began_ms = clock.mono();
    const admissions: Extract<Admission, { kind: "admitted" }>[] = [];
    const open = new Set<number>();
    const release = (entry: number, origin_answer: OriginAnswer): void => {
      if (open.delete(entry)) admissions[entry]!.release(origin_answer);
    };
    const failed = (reason: string, detail: string): TransportResult => ({
      kind: "failed",
      reason,
      status: null,
      redirects: [],
      final_url: null,
      detail,
      ms: Math.round(clock.mono() - began_ms),
    });

    /** An exception in `admit` must fail the fetch here, not only the page on the other node. */
    let broken: { readonly problem: unknown } | null = null;
    async function answer(body: string): Promise<string> {
      const question = JSON.parse(body) as WorkerRequest;
      switch (question.do) {
        case "admit": {
          const entry = await request.admit(question.url).catch((problem: unknown) => {
            broken = { problem };
            throw problem;
          });
          if (entry.kind === "refused") return JSON.stringify(entry satisfies AdmissionReply);
          admissions.push(entry);
          open.add(admissions.length - 1);
          return JSON.stringify({
            kind: "admitted",
            admission: admissions.length - 1,
          } satisfies AdmissionReply);
        }
        case "before_send":
          return JSON.stringify(
            open.has(question.admission) && (await admissions[question.admission]!.beforeSend()),
          );
        case "sent":
          if (open.has(question.admission)) admissions[question.admission]!.onSent();
          return "null";
        case "release":
          release(question.admission, question.answer);
          return "null";
      }
    }

    const { url, max_bytes, accept_language, user_agent, country, signal } = request;
    const render_request: RenderRequest = { url, max_bytes, accept_language, user_agent, country };
    try {
      const end = await remoteTasks.send(BROWSER_TASK, JSON.stringify(render_request), { answer, signal });
      if (broken !== null) throw (broken as { problem: unknown }).problem;
      if (signal.aborted)
        return failed("timeout", "The deadline passed while another node rendered the page");
      switch (end.kind) {
        case "done":
          return await decodeResult(JSON.parse(end.body) as EncodedResult, blobs);
        case "no_worker":
          return failed("browser_unavailable", "No node has the role browser");
        case "busy":
          return failed("browser_unavailable", "All nodes with the role browser are busy");
        case "lost":
          return failed("browser_unavailable", "The node that rendered the page is gone");
      }
    } finally {
      for (const admission of open) admissions[admission]!.release({ status: null, retry_after_s: null });
    }
  };
}

/** The renderer's side: runs the tasks of workers. */
export function renderTask({
  transport,
  blobs,
  clock,
}: {
  readonly transport: Transport;
  readonly blobs: Blobs;
  readonly clock: Clock;
}): (task: RemoteTask) => Promise<string> {
  return async ({ body, ask, signal }) => {
    const render_request = JSON.parse(body) as RenderRequest;
    const askWorker = async <T>(question: WorkerRequest, wait_ms: number): Promise<T> =>
      JSON.parse(await ask(JSON.stringify(question), wait_ms)) as T;
    const result = await transport({
      ...render_request,
      validators: null,
      signal,
      async admit(url) {
        const answer = await askWorker<AdmissionReply>({ do: "admit", url }, ADMIT_TIMEOUT_MS);
        if (answer.kind === "refused") return answer;
        const { admission } = answer;
        return {
          kind: "admitted",
          async beforeSend() {
            const asked_ms = clock.mono();
            const may = await askWorker<boolean>(
              { do: "before_send", admission },
              BEFORE_SEND_TIMEOUT_MS,
            ).catch(() => false);
            return may && clock.mono() - asked_ms < BEFORE_SEND_TIMEOUT_MS;
          },
          // If this message is lost, the request counts as sent when its permit is released, at the latest at the end
          // of the task.
          onSent: () => void askWorker({ do: "sent", admission }, RELEASE_TIMEOUT_MS).catch(() => {}),
          release: (origin_answer) =>
            void askWorker({ do: "release", admission, answer: origin_answer }, RELEASE_TIMEOUT_MS).catch(
              () => {},
            ),
        };
      },
    });
    return JSON.stringify(await encodeResult(result, blobs));
  };
}

async function encodeResult(result: TransportResult, blobs: Blobs): Promise<EncodedResult> {
  if (result.kind !== "page") return result;
  const { headers, body, ...page } = result;
  return {
    ...page,
    headers: [...headers],
    body:
      body.length <= BODY_INLINE_BYTES
        ? { base64: body.toString("base64") }
        : { sha256: (await blobs.put(body)).sha256 },
  };
}

async function decodeResult(result: EncodedResult, blobs: Blobs): Promise<TransportResult> {
  if (result.kind !== "page") return result;
  const { headers, body, ...page } = result;
  return {
    ...page,
    headers: new Map(headers),
    body: "base64" in body ? Buffer.from(body.base64, "base64") : await readBlob(body.sha256, blobs),
  };
}

async function readBlob(sha256: string, blobs: Blobs): Promise<Buffer> {
  const pieces = await blobs.get(sha256);
  if (pieces === null)
    throw new Fault("body_damaged", `Cannot read the rendered page "${sha256}": it is not there`);
  return Buffer.concat(await Array.fromAsync(pieces));
}
