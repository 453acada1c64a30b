/**
 * The reader of one document's bytes: it has the text read out of them once for everybody who asks now, and stores it
 * for whoever asks later. Which filing they belong to, and who may see them, is not its business.
 */
import { Compile } from "typebox/compile";
import { actor, PARKED, type ReplyTo } from "../../cluster/actor.ts";
import type { Bodies } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { holding, type Holds } from "../../cluster/body-refs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import type { Meters } from "../../cluster/ports/meters.ts";
import type { Work } from "../../cluster/ports/workers.ts";
import { TEXT_INLINE_BYTES } from "../../schemas/fetch.ts";
import { FilingReader, FilingText, type FilingTextAsk } from "../../schemas/filings.ts";
import { cutOff } from "../lib/content/extract.ts";
import type { Extracted, ExtractTask } from "../lib/content/extraction-result.ts";
import { contentKindOf } from "../lib/web/http.ts";

export interface Reading {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly bodies: Bodies;
  readonly meters: Meters;
  /** Outside this process, within a time and a memory. */
  readonly extract: (task: ExtractTask, signal: AbortSignal) => Promise<Work<Extracted>>;
}

interface State {
  /** Not kept: who waited asks again. */
  waiting: readonly ReplyTo<FilingText>[];
  /** Which reading is under way; null: none. */
  reading: number | null;
  begun: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** As long as the document itself is fresh. */
const KEPT_MS = 365 * DAY_MS;
/** A higher number when documents are read differently: texts of before are read anew. */
export const textKey = (sha256: string): string => `1 ${sha256}`;

const filingText = Compile(FilingText);
/** Reads what the store gave; what is no text of this form is as good as nothing. */
export const asFilingText = (value: unknown): FilingText | null => (filingText.Check(value) ? value : null);

export function filingReader(needs: Reading) {
  const holds = holding(needs.documents);
  return actor(FilingReader)<State>({
    begin: () => ({ waiting: [], reading: null, begun: 0 }),
    idle_ms: 60_000,
    on: {
      read(turn, ask) {
        turn.state.waiting = [...turn.state.waiting, turn.park<FilingText>()];
        if (turn.state.reading !== null) return PARKED;
        const read = turn.state.begun++;
        turn.state.reading = read;
        turn.start("done", async (_say, held) => ({
          read,
          text: await readText({ ...needs, holds }, ask, held.signal),
        }));
        return PARKED;
      },

      done(turn, { read, text }) {
        if (turn.state.reading !== read) return;
        for (const reply of turn.state.waiting) turn.answer(reply, text);
        turn.state = { ...turn.state, waiting: [], reading: null };
      },
    },
  });
}

/** Throws Fault. */
async function readText(
  { clock, documents, bodies, holds, meters, extract }: Reading & { readonly holds: Holds },
  { sha256, url, content_type }: FilingTextAsk,
  signal: AbortSignal,
): Promise<FilingText> {
  const pieces = await bodies.get(sha256);
  if (pieces === null) throw new Fault("bodies_unreachable", `Cannot read body "${sha256}": it is not there`);
  const bytes = Buffer.concat(await Array.fromAsync(pieces));
  const kind = contentKindOf(content_type, bytes, url);
  const task: ExtractTask = { bytes, url, content_type, kind, now_ms: clock.now(), filed: true };
  const work = await extract(task, signal);
  const extracted = work.kind === "done" ? work.value : cutOff(task, work.reason);
  if (work.kind === "failed") {
    meters.count("trawl_work_failures_total", { task: kind, reason: work.reason });
    meters.say("warn", "Cannot read a filed document", { kind, reason: work.reason, bytes: bytes.length });
  }
  const long = Buffer.byteLength(extracted.text) > TEXT_INLINE_BYTES;
  const stored = async (content: string): Promise<string> => (await bodies.put(Buffer.from(content))).sha256;
  const text: FilingText = {
    content_kind: kind,
    charset: extracted.charset,
    title: extracted.title,
    text: long ? null : extracted.text,
    text_sha256: long ? await stored(extracted.text) : null,
    text_chars: extracted.text.length,
    text_truncated: extracted.text_truncated,
    pdf_pages_sha256: extracted.pdf_pages ? await stored(JSON.stringify(extracted.pdf_pages)) : null,
    pdf_page_count: extracted.pdf_page_count,
    note: extracted.note,
  };
  // What was cut off may go better another time.
  if (work.kind === "done") {
    const expires_at_ms = clock.now() + KEPT_MS;
    const { text_sha256, pdf_pages_sha256 } = text;
    await holds.hold([text_sha256, pdf_pages_sha256], `filing ${sha256}`, expires_at_ms);
    const stored_before = await documents.get("filing_texts", textKey(sha256));
    await documents.put("filing_texts", textKey(sha256), text, stored_before?.version ?? 0, {
      expires_at_ms,
    });
  }
  return text;
}
