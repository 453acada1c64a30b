/** The API as the tools ask it: over the gateway's own routes for `/mcp`, over HTTP for `trawl mcp`. */

/** A request to the API. `path` has its query. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

export interface ApiAnswer {
  readonly status: number;
  /** From the field Retry-After, in seconds; null: there is none. */
  readonly retry_after_s: number | null;
  /** The JSON of the body; null where it is none. */
  readonly content: any;
}

/** `retry_after`: the field's text. */
export const answered = (
  status: number,
  retry_after: string | null | undefined,
  content: unknown,
): ApiAnswer => {
  const seconds = Number(retry_after ?? Number.NaN);
  return { status, retry_after_s: Number.isFinite(seconds) ? seconds : null, content };
};

/** Throws what the connection throws. */
export type AskApi = (request: ApiRequest) => Promise<ApiAnswer>;

/** A path with its query; what is null or undefined is left out. */
export function withQuery(path: string, query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return text === "" ? path : `${path}?${text}`;
}
