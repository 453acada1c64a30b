/** A page that a caller wants read otherwise than it is stored: read anew from its stored body, for this caller alone. */
import { findBody } from "../../../cluster/read-body.ts";
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import { NO_ROOM, type TaskFailure } from "../../../cluster/ports/workers.ts";
import { choosesContent } from "../../../schemas/content.ts";
import { type FetchAnswer, type FetchRequest, type PageRecord } from "../../../schemas/fetch.ts";
import type { ExtractCaller, Extracted } from "../../reading/extraction-result.ts";
import { wantsReading } from "./freshness.ts";
import { formatsBody, textParts } from "./page-store.ts";
import { NO_ROOM_RETRY_S, type PipelineDeps } from "./run.ts";

export type Reread = (
  answer: FetchAnswer,
  request: FetchRequest,
  caller: ExtractCaller,
) => Promise<FetchAnswer | null>;

export const rereader =
  ({ clock, blobs, extract }: Pick<PipelineDeps, "clock" | "blobs" | "extract">): Reread =>
  /** The answer with another text and other formats in its record. Null: the stored body is lost. */
  async (answer, request, caller) => {
    const { record } = answer;
    if (!wantsReading(record, request)) return answer;
    const bytes = await findBody(blobs, record.sha256!);
    if (bytes === null) return null;
    const task = {
      bytes,
      url: record.final_url ?? request.url,
      content_type: record.content_type,
      kind: "html",
      now_ms: clock.now(),
      with_formats: request.with_formats === true,
      reading: request.reading!,
    } as const;
    const result = await extract(task, caller);
    if (result.kind === "failed") return { ...answer, ...unread(result.reason) };
    const contents: Buffer[] = [];
    const read = rereadRecord(record, result.value, contents, choosesContent(request.reading!));
    await Promise.all(contents.map((content) => blobs.put(content)));
    return { ...answer, record: read };
  };

function rereadRecord(
  record: PageRecord,
  { text, text_truncated, meta, formats }: Extracted,
  contents: Buffer[],
  isOtherText: boolean,
): PageRecord {
  const add = (content: Buffer): string => {
    contents.push(content);
    return sha256Of(content);
  };
  const body = formats && formatsBody(formats);
  return {
    ...record,
    ...(isOtherText && {
      ...textParts(text, add),
      text_truncated,
      meta: record.meta && { ...record.meta, word_count: meta?.word_count ?? null },
    }),
    ...(body && { formats_sha256: add(body), formats_bytes: body.length }),
  };
}

const unread = (reason: TaskFailure): Pick<FetchAnswer, "error" | "error_detail" | "retry_after_s"> =>
  NO_ROOM.has(reason) || reason === "aborted"
    ? {
        error: "domain_busy",
        error_detail: `The page came, but this node had no room to read it: ${reason}`,
        retry_after_s: NO_ROOM_RETRY_S,
      }
    : {
        error: "unreadable_document",
        error_detail: `Cannot read the page as the request wants it: ${reason}`,
        retry_after_s: null,
      };
