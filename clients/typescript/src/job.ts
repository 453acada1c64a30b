/** A job of the service: its status, its end, and its results as they come, over as many connections as it takes. */
import type {
  CrawlUrl,
  CrawlUrlPage,
  GetJobUrlsCsvQuery,
  GetJobUrlsQuery,
  ListJobSinksResponse,
  JobItem,
  JobProgress,
  JobStatus,
  Sink,
  SinkBody,
} from "./generated/api.ts";
import { type BodyOptions, type CallOptions, failure, type Http, pause } from "./http.ts";
import { linesOf } from "./lines.ts";
import { TrawlError } from "./errors.ts";
import { listed, type Listed } from "./listed.ts";

export interface ResultOptions extends CallOptions {
  /** The first item. Default 0: one that was handled up to item 41 goes on with 42. */
  readonly from?: number;
}

/** The service sends an empty line every 15 seconds. */
const SILENT_MS = 45_000;
/** How long a service may be away without one more result. */
const PATIENCE_MS = 5 * 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const POLL_MS = 1_000;
const LONGEST_POLL_MS = 10_000;

/** `Item`: what its results are. */
export class Job<Item extends JobItem = JobItem> implements AsyncIterable<Item> {
  readonly id: string;
  /** Whether this call began it; false: the idempotency key or the id named one that exists. */
  readonly created: boolean;
  /** Signs the events of a crawl with a `webhook`. */
  readonly webhook_secret: string | undefined;
  readonly #http: Http;

  constructor(http: Http, id: string, created: boolean, webhook_secret?: string) {
    this.#http = http;
    this.id = id;
    this.created = created;
    this.webhook_secret = webhook_secret;
  }

  status(call?: CallOptions): Promise<JobStatus> {
    return this.#http.json({ method: "GET", path: this.#path(), isRepeatable: true }, call);
  }

  /** Items per second and what the job waits for; null: it has ended, or its node does not answer now. */
  async progress(call?: CallOptions): Promise<JobProgress | null> {
    const { progress = null } = await this.#http.json<JobStatus>(
      { method: "GET", path: this.#path(), query: { include: "progress" }, isRepeatable: true },
      call,
    );
    return progress;
  }

  /** No further item starts until `resume`; those in flight end. A job that is paused for 30 days is cancelled. */
  pause(call?: CallOptions): Promise<JobStatus> {
    return this.#setPaused(true, call);
  }

  /** Throws a TrawlError `paused_by_operator` where only the operator of the service can resume it. */
  resume(call?: CallOptions): Promise<JobStatus> {
    return this.#setPaused(false, call);
  }

  #setPaused(paused: boolean, call?: CallOptions): Promise<JobStatus> {
    return this.#http.json(
      { method: "PATCH", path: this.#path(), body: { paused }, isRepeatable: true },
      call,
    );
  }

  cancel(call?: CallOptions): Promise<JobStatus> {
    return this.#http.json({ method: "DELETE", path: this.#path(), isRepeatable: true }, call);
  }

  /** Resolves when the job has ended, also when it was cancelled. `timeoutMs` is that of each question. */
  async wait(call: CallOptions = {}): Promise<JobStatus> {
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(LONGEST_POLL_MS, wait_ms * 1.5)) {
      const status = await this.status(call);
      if (status.finished_at !== null) return status;
      await pause(wait_ms, call.signal);
    }
  }

  /** Every result in the order of the items, each once, until the job has ended. A lost connection is taken up where it was lost. */
  async *results({ from = 0, ...call }: ResultOptions = {}): AsyncGenerator<Item, void, undefined> {
    let next = from;
    let moved_ms = Date.now();
    for (let failures = 0; ;) {
      try {
        for await (const item of this.#lines(next, call)) {
          next = item.index + 1;
          failures = 0;
          yield item;
          moved_ms = Date.now();
        }
        // The stream ends with the job, after an hour, and when its node stops.
        const { finished_at, counts } = await this.status(call);
        if (finished_at !== null && next >= counts.total) return;
      } catch (problem) {
        if (!isPassing(problem) || Date.now() - moved_ms > PATIENCE_MS) throw problem;
      }
      const most_ms = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++);
      await pause(Math.random() * most_ms, call.signal);
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return this.results();
  }

  /** Every address that a crawl has seen, with why it was not fetched. */
  urls(query: Omit<GetJobUrlsQuery, "from"> = {}, call?: CallOptions): Listed<CrawlUrlPage, CrawlUrl> {
    return listed(
      (from) =>
        this.#http.json<CrawlUrlPage>(
          { method: "GET", path: `${this.#path()}/urls`, query: { ...query, from }, isRepeatable: true },
          call,
        ),
      ({ items }) => items,
    );
  }

  /** The list of `urls` as CSV. */
  urlsCsv(query: GetJobUrlsCsvQuery = {}, call?: CallOptions): Promise<Response> {
    return this.#bytes("/urls.csv", query, call);
  }

  /** Pushes the results to a bucket or a webhook as they end. The secret of a webhook is told only here. */
  addSink(options: SinkBody, call?: CallOptions): Promise<Sink> {
    const body = { ...options };
    return this.#http.json(
      { method: "POST", path: `${this.#path()}/sinks`, body, isRepeatable: false },
      call,
    );
  }

  sinks(call?: CallOptions): Promise<ListJobSinksResponse> {
    return this.#http.json({ method: "GET", path: `${this.#path()}/sinks`, isRepeatable: true }, call);
  }

  /** Results that the sink has delivered stay. */
  async removeSink(sink_id: string, call?: CallOptions): Promise<void> {
    const path = `${this.#path()}/sinks/${encodeURIComponent(sink_id)}`;
    await this.#http.json({ method: "DELETE", path, isRepeatable: true }, call);
  }

  /** The archive of the job as a WACZ file; `range` as in HTTP. */
  wacz({ range }: BodyOptions = {}, call?: CallOptions): Promise<Response> {
    return this.#bytes(".wacz", {}, call, range);
  }

  /** The archive of the job as a WARC file; `range` as in HTTP. */
  warc({ range }: BodyOptions = {}, call?: CallOptions): Promise<Response> {
    return this.#bytes(".warc.gz", {}, call, range);
  }

  #bytes(ending: string, query: object, call?: CallOptions, range?: string): Promise<Response> {
    const headers = range === undefined ? {} : { range };
    return this.#http.open(
      { method: "GET", path: this.#path() + ending, query, headers, isRepeatable: true },
      call,
    );
  }

  async *#lines(from: number, call: CallOptions): AsyncGenerator<Item> {
    const path = `${this.#path()}/results`;
    const response = await this.#http.open(
      { method: "GET", path, query: { from, follow: true }, isRepeatable: true },
      call,
    );
    if (response.body === null) throw new TrawlError("protocol", `The answer to ${path} has no body`);
    try {
      for await (const line of linesOf(response.body, SILENT_MS)) {
        // Lines that had arrived before the signal are given no more.
        if (call.signal?.aborted) throw failure(call.signal.reason, call.signal);
        if (line !== "") yield JSON.parse(line) as Item;
      }
    } catch (problem) {
      throw problem instanceof SyntaxError
        ? new TrawlError("protocol", `A line of ${path} is no JSON`, { cause: problem })
        : failure(problem, call.signal);
    }
  }

  #path(): string {
    return `/v1/jobs/${encodeURIComponent(this.id)}`;
  }
}

/** A job that is begun by the call: awaited it is the job, iterated it is the job's results. */
export interface StartedJob<Item extends JobItem> extends Promise<Job<Item>>, AsyncIterable<Item> {}

export function started<Item extends JobItem>(begin: Promise<Job<Item>>): StartedJob<Item> {
  async function* results(): AsyncGenerator<Item> {
    yield* (await begin).results();
  }
  return Object.assign(begin, { [Symbol.asyncIterator]: results });
}

/** A service that restarts, or has no room for another reader. */
const isPassing = (problem: unknown): boolean =>
  problem instanceof TrawlError &&
  (["connection", "unavailable", "timeout", "rate_limited", "key_rate_limited"] as string[]).includes(
    problem.code,
  );
