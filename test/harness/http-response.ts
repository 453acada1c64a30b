/** A request to the service and its response, as tests write and read them, with a socket and without. */

export interface RequestOptions {
  /** Null: no key. Default: the first admin key. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; bytes and text as they are. */
  readonly body?: unknown;
  /** Aborts when the client disconnects. */
  readonly signal?: AbortSignal;
  /** The answer is not held to the API document: with `fields` it lacks what its schema requires. */
  readonly is_lean?: boolean;
}

/** A response read to its end. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly json: any;
}
