/** A SourceHttp that answers from a table of addresses, as a source once did. Anything else is a 404. */
import { createHash } from "node:crypto";
import type {
  KnownCompany,
  SourceFailure,
  SourceHttp,
  SourceRequest,
} from "../../actors/sources/companies/source.ts";

export type Recorded = { readonly status?: number; readonly body: unknown } | SourceFailure;

export interface RecordedHttp {
  readonly http: SourceHttp;
  readonly requests: SourceRequest[];
}

/** A company of which a source is told nothing but the identifier that is looked up. */
export const NOTHING_KNOWN: KnownCompany = {
  names: [],
  city: null,
  country: null,
  identifiers: [],
  profiles: [],
};

/** `body`: text or bytes as they are, anything else as JSON. */
export function recordedHttp(answers: Readonly<Record<string, Recorded>>): RecordedHttp {
  const requests: SourceRequest[] = [];
  const http: SourceHttp = async (request) => {
    requests.push(request);
    const answer = answers[request.url] ?? { status: 404, body: "{}" };
    if ("kind" in answer) return answer;
    const { body: written, status = 200 } = answer;
    const body = Buffer.isBuffer(written)
      ? written
      : Buffer.from(typeof written === "string" ? written : JSON.stringify(written));
    return {
      kind: "answered",
      status,
      headers: new Map([["content-type", "application/json"]]),
      body,
      document: {
        url: request.url,
        retrieved_at: "2026-11-22T12:00:00Z",
        sha256: createHash("sha256").update(body).digest("hex"),
        bytes: body.length,
        content_type: "application/json",
      },
    };
  };
  return { http, requests };
}
