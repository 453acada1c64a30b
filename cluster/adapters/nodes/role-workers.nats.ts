/**
 * Errands on plain NATS messages: `<cluster>.e.<kind>` in a queue group, so that one of those who serve it hears of each.
 * The sender has an inbox for questions, signs of life and the end; the runner one for being told to stop.
 */
import { createInbox, headers, NoRespondersError, RequestError, type Subscription } from "nats";
import { MAX_ENVELOPE_BYTES } from "../../ports/bus.ts";
import type { ErrandEnd, Errands } from "../../ports/role-workers.ts";
import { Fault } from "../../ports/fault.ts";
import type { Meters } from "../../ports/meters.ts";
import { linkNats, unreachable } from "../bus/connection.nats.ts";

const GROUP = "errands";
const REPLY_TO = "Trawl-Reply";
/** Taking an errand is a matter of milliseconds. */
const TAKEN_MS = 2_000;
/** All are busy: asked again after this, so often; then somebody else may have an idea. */
const AGAIN_MS = 250;
const TRIES = 20;
const BEAT_MS = 2_000;
const SILENT_MS = 7_000;
const BUSY = "busy";
/** The longest page. */
const CLOSE_MS = 30_000;

const isNobody = (problem: unknown): boolean =>
  problem instanceof NoRespondersError || (problem instanceof RequestError && problem.isNoResponders());

function fitting(words: string): string {
  if (Buffer.byteLength(words) > MAX_ENVELOPE_BYTES)
    throw new Fault("message_too_large", `Cannot run an errand with more than ${MAX_ENVELOPE_BYTES} bytes`);
  return words;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function natsErrands(address: string, meters?: Meters): Promise<Errands> {
  const link = await linkNats(address, { purpose: "errands", ...(meters && { meters }) });
  const { nc, name: cluster } = link;
  const subjectOf = (kind: string): string => `${cluster}.e.${kind}`;
  const serving: Subscription[] = [];
  /** Errands that run here, and how each is ended. */
  const running = new Map<Promise<void>, () => void>();

  /** Whoever waits for words that cannot be said any more is told by the silence. */
  function say(subject: string, words = ""): void {
    if (!nc.isClosed()) nc.publish(subject, words);
  }

  return {
    async serve(kind, most, run) {
      let busy = 0;
      const subscription = nc.subscribe(subjectOf(kind), {
        queue: GROUP,
        callback(problem, message) {
          const home = message.headers?.get(REPLY_TO);
          if (problem || !home) return;
          if (busy >= most) return void message.respond(BUSY);
          busy++;
          const left = new AbortController();
          const control = createInbox();
          const stops = nc.subscribe(control, { max: 1, callback: () => left.abort() });
          message.respond(control);
          const beat = setInterval(() => say(`${home}.beat`), BEAT_MS);
          const errand = {
            body: message.string(),
            signal: left.signal,
            ask: async (question: string, wait_ms: number) => {
              try {
                return (await nc.request(`${home}.ask`, fitting(question), { timeout: wait_ms })).string();
              } catch (cause) {
                if (cause instanceof Fault) throw cause;
                throw new Fault("no_answer", `Cannot ask who sent an errand "${kind}"`, { cause });
              }
            },
          };
          const ended = Promise.withResolvers<void>();
          const over = (words: () => void): void => {
            if (!running.delete(ended.promise)) return;
            clearInterval(beat);
            stops.unsubscribe();
            busy--;
            words();
            ended.resolve();
          };
          const lost = (): void => over(() => say(`${home}.lost`));
          running.set(ended.promise, () => {
            left.abort();
            lost();
          });
          Promise.resolve()
            .then(() => run(errand))
            .then((body) => over(() => say(`${home}.done`, fitting(body))))
            .catch((cause: unknown) => {
              if (!left.signal.aborted)
                meters?.say("warn", "An errand came to nothing", { kind, problem: cause });
              say(`${home}.lost`);
              lost();
            });
        },
      });
      serving.push(subscription);
      await nc.flush();
    },

    async send(kind, body, { answer, signal }) {
      await link.up();
      const home = createInbox();
      const end = Promise.withResolvers<ErrandEnd>();
      let silence: NodeJS.Timeout | undefined;
      const heard = (): void => {
        clearTimeout(silence);
        silence = setTimeout(() => end.resolve({ kind: "lost" }), SILENT_MS);
      };
      const inbox = nc.subscribe(`${home}.*`, {
        callback(problem, message) {
          if (problem) return;
          heard();
          switch (message.subject.slice(home.length + 1)) {
            case "ask":
              // Who gets no answer is told by time.
              void answer(message.string()).then(
                (words) => message.respond(fitting(words)),
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
      const leave = (): void => end.resolve({ kind: "lost" });
      signal.addEventListener("abort", leave, { once: true });
      const about = headers();
      about.set(REPLY_TO, home);
      try {
        for (let tries = 0; tries < TRIES && !signal.aborted; tries++) {
          const taken = await nc.request(subjectOf(kind), fitting(body), {
            timeout: TAKEN_MS,
            headers: about,
          });
          const control = taken.string();
          if (control === BUSY) {
            await pause(AGAIN_MS);
            continue;
          }
          heard();
          const ended = await end.promise;
          if (ended.kind === "lost") nc.publish(control);
          return ended;
        }
        return { kind: signal.aborted ? "lost" : "busy" };
      } catch (problem) {
        if (problem instanceof Fault) throw problem;
        if (isNobody(problem)) return { kind: "nobody" };
        throw unreachable(`send an errand "${kind}"`, problem);
      } finally {
        clearTimeout(silence);
        signal.removeEventListener("abort", leave);
        inbox.unsubscribe();
      }
    },

    async close(within_ms = CLOSE_MS) {
      for (const subscription of serving) subscription.unsubscribe();
      let late: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        late = setTimeout(resolve, within_ms);
      });
      await Promise.race([limit, Promise.all(running.keys())]);
      clearTimeout(late);
      for (const end of running.values()) end();
      await link.close();
    },
  };
}
