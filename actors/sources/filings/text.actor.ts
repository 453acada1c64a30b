/**
 * The text of one document, identified by the digest of its bytes and what says how they are read: the declared content
 * type and the extension of the address. The actor extracts it once for all callers that wait,
 * in a worker process, and stores it for later callers. It checks neither the filing nor the caller's access to it.
 */
import { readBody } from "../../../cluster/read-body.ts";
import { createHash } from "node:crypto";
import { compiled } from "../../../cluster/contracts/compiled.ts";
import { actor, DEFERRED, type ReplyTo } from "../../../cluster/actor.ts";
import type { ByteBudget } from "../../../cluster/byte-budget.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { bodyRefs, type BodyRefs } from "../../../cluster/body-refs.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import { NO_ROOM, type TaskResult } from "../../../cluster/ports/workers.ts";
import { TEXT_INLINE_BYTES } from "../../../schemas/fetch.ts";
import { FilingTextExtractor, FilingText, type FilingTextRequest } from "../../../schemas/filings.ts";
import { type Coalescer, type CoalescerRules, complete, emptyCoalescer, join } from "../../lib/coalescer.ts";
import { workFields } from "../../lib/work-fields.ts";
import { cutOff } from "../../reading/document-task.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../../reading/extraction-result.ts";
import { contentKindOf } from "../../lib/web/http.ts";
import { FILING_TEXTS } from "./collections.ts";

export interface FilingTextDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  /** The memory for bodies on this node. Default: no limit. */
  readonly memory?: ByteBudget;
  /** In a worker process, with a limit of time and memory. */
  readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
}

interface Caller {
  readonly request: FilingTextRequest;
  readonly reply: ReplyTo<FilingText>;
}

/** Passivation loses the callers: each of them asks again. */
interface State {
  coalescer: Coalescer<Caller, FilingTextRequest>;
}

/** All callers of one actor ask for the same bytes, read in the same way. */
const RULES: CoalescerRules<Caller, FilingTextRequest> = {
  serves: () => true,
  requestFor: ([first]) => first.request,
};

/** Its pieces, and the whole that is put together from them. */
const COPIES = 2;
const PASSIVATE_AFTER_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** As long as the document itself is fresh. */
const TEXT_TTL_MS = 365 * DAY_MS;
/** The key of a text, and of its actor. The number grows when extraction changes, so that older texts are extracted anew. */
export function textKey({ sha256, content_type, url }: TextIdentity): string {
  const extension = /\.[^./]*$/.exec(new URL(url).pathname)?.[0].toLowerCase() ?? "";
  const reading = createHash("sha256").update(
    JSON.stringify([content_type?.toLowerCase() ?? null, extension]),
  );
  return `2 ${sha256} ${reading.digest("hex").slice(0, 16)}`;
}
type TextIdentity = Pick<FilingTextRequest, "sha256" | "content_type" | "url">;

const filingText = compiled(FilingText);
/** Reads a stored record; a record of another form counts as none. */
export const asFilingText = (value: unknown): FilingText | null => (filingText.check(value) ? value : null);

export function filingTextActor(deps: FilingTextDeps) {
  const refs = bodyRefs(deps.documents);
  return actor(FilingTextExtractor)<State>({
    activate: () => ({ coalescer: emptyCoalescer() }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      extract(turn, request) {
        const reply = turn.deferReply<FilingText>();
        const { coalescer, started } = join(turn.state.coalescer, RULES, { request, reply })!;
        turn.state.coalescer = coalescer;
        if (started)
          turn.pipeToSelf("extracted", async (_ask, work) => ({
            extraction: started.run,
            text: await extractInRoom({ ...deps, refs }, started.request, work.signal),
          }));
        return DEFERRED;
      },

      extracted(turn, { extraction, text }) {
        const completed = complete(turn.state.coalescer, RULES, extraction, () => true);
        if (!completed) return;
        turn.state.coalescer = completed.coalescer;
        for (const { reply } of completed.served) turn.answer(reply, text);
      },
    },
  });
}

/** The text, once there is room for the document in memory. Throws Fault. */
async function extractInRoom(
  deps: FilingTextDeps & { readonly refs: BodyRefs },
  request: FilingTextRequest,
  signal: AbortSignal,
): Promise<FilingText> {
  if (!deps.memory) return extractText(deps, request, signal);
  const reservation = await deps.memory.reserve(COPIES * request.bytes, signal);
  if (reservation === null)
    throw new Fault("overloaded", "Cannot read a filed document: this node has no room for it in memory");
  try {
    return await extractText(deps, request, signal);
  } finally {
    reservation.release();
  }
}

/** Throws Fault. */
async function extractText(
  { clock, documents, blobs, refs, metrics, log, extract }: FilingTextDeps & { readonly refs: BodyRefs },
  request: FilingTextRequest,
  signal: AbortSignal,
): Promise<FilingText> {
  const { sha256, url, content_type, project, work_id } = request;
  const bytes = await readBody(blobs, sha256);
  const kind = contentKindOf(content_type, bytes, url);
  const task: ExtractTask = { bytes, url, content_type, kind, now_ms: clock.now(), filed: true };
  const result = await extract(task, { signal, project });
  if (result.kind === "failed") {
    metrics.count("trawl_work_failures_total", { task: kind, reason: result.reason });
    const fields = { ...workFields(work_id), kind, reason: result.reason, bytes: bytes.length };
    log.warn("Cannot read a filed document", fields);
    if (result.reason === "aborted" || NO_ROOM.has(result.reason))
      throw new Fault("overloaded", `Cannot read a filed document: this node has no room (${result.reason})`);
  }
  const extracted = result.kind === "done" ? result.value : await cutOff(task, result.reason);
  const isLong = Buffer.byteLength(extracted.text) > TEXT_INLINE_BYTES;
  const stored = async (content: string): Promise<string> => (await blobs.put(Buffer.from(content))).sha256;
  const text: FilingText = {
    content_kind: kind,
    charset: extracted.charset,
    title: extracted.title,
    text: isLong ? null : extracted.text,
    text_sha256: isLong ? await stored(extracted.text) : null,
    text_chars: extracted.text.length,
    text_truncated: extracted.text_truncated,
    pdf_pages_sha256: extracted.pdf_pages ? await stored(JSON.stringify(extracted.pdf_pages)) : null,
    pdf_page_count: extracted.pdf_page_count,
    note: extracted.note,
  };
  // A text cut off by a limit is not stored: the next extraction may finish.
  if (result.kind === "done") {
    const key = textKey(request);
    const expires_at_ms = clock.now() + TEXT_TTL_MS;
    const { text_sha256, pdf_pages_sha256 } = text;
    await refs.retain([text_sha256, pdf_pages_sha256], `filing ${key}`, expires_at_ms);
    await FILING_TEXTS.update(documents, key, () => ({ value: text, options: { expires_at_ms } }));
  }
  return text;
}
