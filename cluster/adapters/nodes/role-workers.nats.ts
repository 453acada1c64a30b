/**
 * Remote tasks on plain NATS messages: `<cluster>.e.<kind>` in a queue group, so that one worker gets each task. The
 * caller has an inbox for questions, heartbeats and the result; the worker has one for cancellation.
 */
import { createInbox, headers, type Subscription } from "nats";
import { MAX_ENVELOPE_BYTES } from "../../ports/bus.ts";
import type { RemoteTaskResult, RemoteTasks } from "../../ports/role-workers.ts";
import { Fault } from "../../ports/fault.ts";
import { hasNoResponder, linkNats, unreachable } from "../bus/connection.nats.ts";
import type { Log } from "../../ports/log.ts";

const GROUP = "remote-tasks";
const REPLY_TO = "Trawl-Reply";
/** Time-out for accepting a task, which takes milliseconds. */
const ACCEPT_TIMEOUT_MS = 2_000;
/** While all workers are busy, the caller tries again after this time, this often; then the result is `busy`. */
const RETRY_AFTER_MS = 250;
const MAX_ATTEMPTS = 20;
const HEARTBEAT_MS = 2_000;
const HEARTBEAT_TIMEOUT_MS = 7_000;
const BUSY = "busy";
/** As long as a page may take. */
const CLOSE_MS = 30_000;

function assertFits(text: string): string {
  if (Buffer.byteLength(text) > MAX_ENVELOPE_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send a remote task with more than ${MAX_ENVELOPE_BYTES} bytes`,
    );
  return text;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function natsRemoteTasks(address: string, log?: Log): Promise<RemoteTasks> {
  const link = await linkNats(address, { purpose: "remote tasks", ...(log && { log }) });
  const { nc, name: cluster } = link;
  const subjectOf = (kind: string): string => `${cluster}.e.${kind}`;
  const serving: Subscription[] = [];
  /** Tasks that run here, each with the function that cancels it. */
  const running = new Map<Promise<void>, () => void>();

  /** Best effort: a caller that gets no message notices the missing heartbeats. */
  function publish(subject: string, text = ""): void {
    if (!nc.isClosed()) nc.publish(subject, text);
  }

  return {
    async serve(kind, max_concurrency, run) {
      let busy = 0;
      const subscription = nc.subscribe(subjectOf(kind), {
        queue: GROUP,
        callback(problem, message) {
          const reply_to = message.headers?.get(REPLY_TO);
          if (problem || !reply_to) return;
          if (busy >= max_concurrency) return void message.respond(BUSY);
          busy++;
          const abort = new AbortController();
          const control = createInbox();
          const stops = nc.subscribe(control, { max: 1, callback: () => abort.abort() });
          message.respond(control);
          const heartbeat = setInterval(() => publish(`${reply_to}.beat`), HEARTBEAT_MS);
          const task = {
            body: message.string(),
            signal: abort.signal,
            ask: async (question: string, wait_ms: number) => {
              try {
                return (
                  await nc.request(`${reply_to}.ask`, assertFits(question), { timeout: wait_ms })
                ).string();
              } catch (cause) {
                if (cause instanceof Fault) throw cause;
                throw new Fault("no_answer", `Cannot ask the caller of the remote task "${kind}"`, { cause });
              }
            },
          };
          const ended = Promise.withResolvers<void>();
          const finish = (publishEnd: () => void): void => {
            if (!running.delete(ended.promise)) return;
            clearInterval(heartbeat);
            stops.unsubscribe();
            busy--;
            publishEnd();
            ended.resolve();
          };
          const publishLost = (): void => finish(() => publish(`${reply_to}.lost`));
          running.set(ended.promise, () => {
            abort.abort();
            publishLost();
          });
          Promise.resolve()
            .then(() => run(task))
            .then((body) => finish(() => publish(`${reply_to}.done`, assertFits(body))))
            .catch((cause: unknown) => {
              if (!abort.signal.aborted) log?.warn("A remote task failed", { kind, problem: cause });
              publish(`${reply_to}.lost`);
              publishLost();
            });
        },
      });
      serving.push(subscription);
      await nc.flush();
    },

    async send(kind, body, { answer, signal }) {
      await link.connected();
      const reply_to = createInbox();
      const end = Promise.withResolvers<RemoteTaskResult>();
      let silence: NodeJS.Timeout | undefined;
      const onSignOfLife = (): void => {
        clearTimeout(silence);
        silence = setTimeout(() => end.resolve({ kind: "lost" }), HEARTBEAT_TIMEOUT_MS);
      };
      const inbox = nc.subscribe(`${reply_to}.*`, {
        callback(problem, message) {
          if (problem) return;
          onSignOfLife();
          switch (message.subject.slice(reply_to.length + 1)) {
            case "ask":
              // The worker's question times out.
              void answer(message.string()).then(
                (text) => message.respond(assertFits(text)),
                () => {},
              );
              break;
            case "done":
              end.resolve({ kind: "done", body: message.string() });
              break;
            case "lost":
              end.resolve({ kind: "lost" });
              break;
          }
        },
      });
      const onAbort = (): void => end.resolve({ kind: "lost" });
      signal.addEventListener("abort", onAbort, { once: true });
      const task_headers = headers();
      task_headers.set(REPLY_TO, reply_to);
      try {
        for (let attempt = 0; attempt < MAX_ATTEMPTS && !signal.aborted; attempt++) {
          const accepted = await nc.request(subjectOf(kind), assertFits(body), {
            timeout: ACCEPT_TIMEOUT_MS,
            headers: task_headers,
          });
          const control = accepted.string();
          if (control === BUSY) {
            await pause(RETRY_AFTER_MS);
            continue;
          }
          onSignOfLife();
          const ended = await end.promise;
          if (ended.kind === "lost") nc.publish(control);
          return ended;
        }
        return { kind: signal.aborted ? "lost" : "busy" };
      } catch (problem) {
        if (problem instanceof Fault) throw problem;
        if (hasNoResponder(problem)) return { kind: "no_worker" };
        throw unreachable(`send the remote task "${kind}"`, problem);
      } finally {
        clearTimeout(silence);
        signal.removeEventListener("abort", onAbort);
        inbox.unsubscribe();
      }
    },

    async close(within_ms = CLOSE_MS) {
      for (const subscription of serving) subscription.unsubscribe();
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, within_ms);
      });
      await Promise.race([limit, Promise.all(running.keys())]);
      clearTimeout(timer);
      for (const end of running.values()) end();
      await link.close();
    },
  };
}
