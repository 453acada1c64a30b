/**
 * The reader of one document's bytes: it has the text read out of them once for everybody who asks now, and stores it
 * for whoever asks later. Which filing they belong to, and who may see them, is not its business.
 */
import { Compile } from "typebox/compile";
import { actor, DEFERRED, type ReplyTo } from "../../cluster/actor.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { bodyRefs, type BodyRefs } from "../../cluster/body-refs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { TaskResult } from "../../cluster/ports/workers.ts";
import { TEXT_INLINE_BYTES } from "../../schemas/fetch.ts";
import { FilingTextExtractor, FilingText, type FilingTextRequest } from "../../schemas/filings.ts";
import { cutOff } from "../lib/content/extract.ts";
import type { Extracted, ExtractTask } from "../lib/content/extraction-result.ts";
import { contentKindOf } from "../lib/web/http.ts";
import type { Metrics } from "../../cluster/ports/metrics.ts";
import type { Log } from "../../cluster/ports/log.ts";

export interface FilingTextDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Outside this process, within a time and a memory. */
  readonly extract: (task: ExtractTask, signal: AbortSignal) => Promise<TaskResult<Extracted>>;
}

interface State {
  /** Not kept: who waited asks again. */
  waiting: readonly ReplyTo<FilingText>[];
  /** Which reading is under way; null: none. */
  extraction: number | null;
  extractions_started: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** As long as the document itself is fresh. */
const TEXT_TTL_MS = 365 * DAY_MS;
/** A higher number when documents are read differently: texts of before are read anew. */
export const textKey = (sha256: string): string => `1 ${sha256}`;

const filingText = Compile(FilingText);
/** Reads what the store gave; what is no text of this form is as good as nothing. */
export const asFilingText = (value: unknown): FilingText | null => (filingText.Check(value) ? value : null);

export function filingTextActor(deps: FilingTextDeps) {
  const refs = bodyRefs(deps.documents);
  return actor(FilingTextExtractor)<State>({
    activate: () => ({ waiting: [], extraction: null, extractions_started: 0 }),
    passivate_after_ms: 60_000,
    on: {
      extract(turn, request) {
        turn.state.waiting = [...turn.state.waiting, turn.deferReply<FilingText>()];
        if (turn.state.extraction !== null) return DEFERRED;
        const extraction = turn.state.extractions_started++;
        turn.state.extraction = extraction;
        turn.pipeToSelf("extracted", async (_say, work) => ({
          extraction,
          text: await extractText({ ...deps, refs }, request, work.signal),
        }));
        return DEFERRED;
      },

      extracted(turn, { extraction, text }) {
        if (turn.state.extraction !== extraction) return;
        for (const reply of turn.state.waiting) turn.answer(reply, text);
        turn.state = { ...turn.state, waiting: [], extraction: null };
      },
    },
  });
}

/** Throws Fault. */
async function extractText(
  { clock, documents, blobs, refs, metrics, log, extract }: FilingTextDeps & { readonly refs: BodyRefs },
  { sha256, url, content_type }: FilingTextRequest,
  signal: AbortSignal,
): Promise<FilingText> {
  const pieces = await blobs.get(sha256);
  if (pieces === null) throw new Fault("bodies_unreachable", `Cannot read body "${sha256}": it is not there`);
  const bytes = Buffer.concat(await Array.fromAsync(pieces));
  const kind = contentKindOf(content_type, bytes, url);
  const task: ExtractTask = { bytes, url, content_type, kind, now_ms: clock.now(), filed: true };
  const result = await extract(task, signal);
  const extracted = result.kind === "done" ? result.value : cutOff(task, result.reason);
  if (result.kind === "failed") {
    metrics.count("trawl_work_failures_total", { task: kind, reason: result.reason });
    log.warn("Cannot read a filed document", { kind, reason: result.reason, bytes: bytes.length });
  }
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
  // What was cut off may go better another time.
  if (result.kind === "done") {
    const expires_at_ms = clock.now() + TEXT_TTL_MS;
    const { text_sha256, pdf_pages_sha256 } = text;
    await refs.retain([text_sha256, pdf_pages_sha256], `filing ${sha256}`, expires_at_ms);
    const previous = await documents.get("filing_texts", textKey(sha256));
    await documents.put("filing_texts", textKey(sha256), text, previous?.version ?? 0, {
      expires_at_ms,
    });
  }
  return text;
}
