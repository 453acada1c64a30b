/**
 * The filing system's answers (2-adapters.md, part A): a question that was read (parse-request.ts) to the documents it needs, by
 * `FilingSource`, and to an answer. Limits, pauses, caches and the wire are the source's; HTTP is the gateway's. Every
 * answer names the bodies it came from, so that who asked may download them.
 */
import { LRUCache } from "lru-cache";
import type { ActorClient } from "../../cluster/actor.ts";
import type { YieldToEventLoop } from "../../cluster/ports/event-loop.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { EMPTY_RECORD, type FetchAnswer, type PageRecord } from "../../schemas/fetch.ts";
import type { SourceAnswer, SourceRequest } from "../../schemas/filing-source.ts";
import {
  type FactsAnswer,
  type FilerCompany,
  type FilerHint,
  type Filing,
  FilingTextExtractor,
  type FilingSearchAnswer,
  type FilingText,
  type IndexAnswer,
  type LatestAnswer,
  type OlderPage,
  type ResolveAnswer,
  type SubmissionsAnswer,
} from "../../schemas/filings.ts";
import { exposedHeaders } from "../lib/web/http.ts";
import {
  type DocumentFields,
  type FilingFields,
  type LatestFields,
  type FilerFields,
  parseDocumentRequest,
  parseFactsRequest,
  parseFilingRequest,
  parseLatestRequest,
  parseResolveRequest,
  parseSearchRequest,
  parseSubmissionsRequest,
  type SearchFields,
  type SubmissionsFields,
  type FilerRef,
} from "./parse-request.ts";
import { type TickerDirectory, tickerDirectory, isListedHere, parseTickerList } from "./ticker-lists.ts";
import { factsCounter, type FactsSummary } from "./facts.ts";
import { fullTextPath, parseFullTextAnswer } from "./full-text.ts";
import {
  type ParseResult,
  flatIndexPath,
  folderPath,
  indexPath,
  padCik,
  withoutDashes,
} from "./identifiers.ts";
import { parseFolderListing, parseIndexPage } from "./index-page.ts";
import { parseJson } from "./json-scan.ts";
import { asFilingText, textKey } from "./text.actor.ts";
import type { Register } from "./register.ts";
import type { FilingSource } from "./source.ts";
import {
  canHold,
  filingOf,
  newestFirst,
  type PageEntry,
  parseRows,
  parseSubmissions,
  type Rows,
  select,
  type Submissions,
} from "./submissions.ts";

export interface FilingsServiceDeps {
  /** Null: no identity is configured, so nothing is asked of anybody. */
  readonly source: FilingSource | null;
  readonly register: Register;
  readonly ask: ActorClient;
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Addresses that are answered begin with this; no slash at its end. */
  readonly www_url: string;
}

/** On whose behalf, and until when. */
export interface CallerContext {
  readonly project: string;
  readonly lane: "sync" | "batch";
  readonly deadline_ms: number;
  /** Names the question: asked again, it is the same one. */
  readonly id: string;
}

interface BodyReference {
  readonly sha256: string;
  readonly content_type: string | null;
}

/** An answer without the id of the request it answers. */
type WithoutRequestId<A> = Omit<A, "request_id">;

export interface ServiceResult<A> {
  readonly answer: WithoutRequestId<A>;
  /** What the asker has retrieved by it. */
  readonly bodies: readonly BodyReference[];
  /** It is an error that says nothing of what was asked for: nobody had a slot, or everybody pauses. */
  readonly is_busy?: true;
}

/** A document is answered as a fetch is: what the gateway writes a FetchResponse from. */
export interface DocumentResult {
  readonly url: string;
  readonly answer: FetchAnswer;
  readonly bodies: readonly BodyReference[];
  readonly is_busy?: true;
}

/** Fields as they came: what is wrong with them is part of the answer. */
export interface FilingsService {
  readonly resolve: (named: FilerFields, caller: CallerContext) => Promise<ServiceResult<ResolveAnswer>>;
  readonly submissions: (
    named: FilerFields,
    query: SubmissionsFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<SubmissionsAnswer & WithHint>>;
  readonly latest: (
    named: FilerFields,
    query: LatestFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<LatestAnswer & WithHint>>;
  readonly facts: (
    named: FilerFields,
    caller: CallerContext,
  ) => Promise<ServiceResult<FactsAnswer & WithHint>>;
  readonly filing: (filed: FilingFields, caller: CallerContext) => Promise<ServiceResult<IndexAnswer>>;
  readonly search: (query: SearchFields, caller: CallerContext) => Promise<ServiceResult<FilingSearchAnswer>>;
  readonly document: (filed: DocumentFields, caller: CallerContext) => Promise<DocumentResult>;
}

/** Of items that name a filer by ticker or ISIN. */
interface WithHint {
  readonly hint?: FilerHint;
}

type SourceDocument = Extract<SourceAnswer, { kind: "got" }>;

/** Why there is no answer; the codes of schemas/errors.ts. */
interface Failure {
  readonly kind: "failure";
  readonly error: string;
  readonly message: string;
  readonly retry_after_s: number | null;
  /** Nobody had a slot, or everybody pauses: nothing is known of what was asked for. */
  readonly is_busy?: true;
  readonly hint?: FilerHint;
}

const failure = (error: string, message: string, retry_after_s: number | null = null): Failure => ({
  kind: "failure",
  error,
  message,
  retry_after_s,
});

const NOT_CONFIGURED = failure(
  "filings_not_configured",
  "The filing system is not turned on here: the operator sets TRAWL_FILINGS_IDENTITY",
);

/** The upstream sent what it cannot have meant; it may mean better soon. */
const NONSENSE_RETRY_S = 60;
const invalidAnswer = (what: string): Failure =>
  failure("filings_unavailable", `The filing system answered no ${what}`, NONSENSE_RETRY_S);

const MIB = 2 ** 20;
/** Most bytes of each kind, decoded; larger ones are no such document. */
const MAX_BYTES = {
  tickers: 16 * MIB,
  submissions: 32 * MIB,
  facts: 128 * MIB,
  index: 16 * MIB,
  search: 16 * MIB,
};
const DAY_S = 24 * 60 * 60;
/** A list that was looked at within this is not even asked for. */
const LIST_RECENT_MS = 60_000;
/** A ticker that is on no list may be new: then the lists may be this old. */
const LIST_AGE_FOR_MISSES_S = 60 * 60;
const PAGES_AT_ONCE = 8;
/** Filings made of their columns before others have their turn. */
const ROWS_AT_ONCE = 500;
/** Parsed documents in memory, by the bytes they were parsed from; they take about twice as much. */
const MAX_PARSED_BYTES = 16 * MIB;
const YEAR_S = 365 * DAY_S;

const EXCHANGES: Pick<SourceRequest, "host" | "path"> = {
  host: "www",
  path: "/files/company_tickers_exchange.json",
};
const TICKERS: Pick<SourceRequest, "host" | "path"> = { host: "www", path: "/files/company_tickers.json" };

interface Lists {
  readonly directory: TickerDirectory;
  /** The list that decides first. */
  readonly documents: readonly [SourceDocument, ...SourceDocument[]];
}

/** Who is meant, and the documents that said so. */
interface ResolvedFiler {
  readonly kind: "found";
  readonly filer: FilerCompany & { readonly cik: number };
  readonly documents: readonly [SourceDocument, ...SourceDocument[]];
}

type FilerLookup =
  | ResolvedFiler
  | {
      readonly kind: "ambiguous";
      readonly candidates: readonly FilerCompany[];
      readonly documents: readonly [SourceDocument, ...SourceDocument[]];
    }
  | Failure;

interface Parsed {
  readonly submissions?: Submissions;
  readonly rows?: Rows;
  readonly bytes: number;
}

export function filingsService(deps: FilingsServiceDeps): FilingsService {
  const { source, register, ask, blobs, documents, clock, yieldToEventLoop, www_url } = deps;
  const parsed = new LRUCache<string, Parsed>({
    maxSize: MAX_PARSED_BYTES,
    sizeCalculation: ({ bytes }) => bytes + 1_024,
  });
  const factsSummaries = new LRUCache<string, FactsSummary>({ max: 1_000 });
  /** By the digests of their lists; two generations, so that a refresh does not throw away what is in use. */
  const directories = new LRUCache<string, Promise<TickerDirectory | Failure>>({ max: 3 });
  let recentLists: { readonly lists: Lists; readonly checked_ms: number } | null = null;

  async function get(
    request: Pick<SourceRequest, "host" | "path"> &
      Partial<SourceRequest> & { kind: keyof typeof MAX_BYTES | "document" },
    { project, lane, deadline_ms }: CallerContext,
  ): Promise<SourceAnswer> {
    const max_bytes = request.kind === "document" ? 0 : MAX_BYTES[request.kind];
    return source!.get({ cache_ttl_s: null, project, lane, deadline_ms, max_bytes, ...request });
  }

  /** What was said of a document that is not had. */
  const failed = ({
    error,
    message,
    retry_after_s,
    paused,
  }: Extract<SourceAnswer, { kind: "failed" }>): Failure => {
    // Only a document's size is the caller's business.
    if (error === "too_large") return failure("filings_unavailable", message, NONSENSE_RETRY_S);
    const problem = failure(error, message, retry_after_s);
    return paused || error === "rate_limited" ? { ...problem, is_busy: true } : problem;
  };

  async function bytesOf({ sha256 }: SourceDocument): Promise<Buffer> {
    const pieces = await piecesOf(sha256);
    const read = await Array.fromAsync(pieces);
    return read.length === 1 ? read[0]! : Buffer.concat(read);
  }

  async function piecesOf(sha256: string): Promise<AsyncIterable<Buffer>> {
    const pieces = await blobs.get(sha256);
    if (pieces === null)
      throw new Fault("bodies_unreachable", `Cannot read body "${sha256}": it is not there`);
    return pieces;
  }

  /** Null: no JSON. */
  async function jsonOf(
    got: SourceDocument,
  ): Promise<{ readonly value: unknown; readonly bytes: number } | null> {
    const bytes = await bytesOf(got);
    try {
      return { value: await parseJson(bytes, yieldToEventLoop), bytes: bytes.length };
    } catch (problem) {
      if (problem instanceof SyntaxError) return null;
      throw problem;
    }
  }

  /** It is forgotten, so that it is asked for anew, and answered as nothing of use. */
  async function discardInvalid(
    address: Pick<SourceRequest, "host" | "path">,
    got: SourceDocument,
    what: string,
  ): Promise<Failure> {
    await source!.discard(address, got.sha256);
    return invalidAnswer(what);
  }

  async function tickerList(
    address: Pick<SourceRequest, "host" | "path">,
    cache_ttl_s: number | null,
    caller: CallerContext,
  ): Promise<SourceDocument | Failure | null> {
    const got = await get({ ...address, kind: "tickers", cache_ttl_s }, caller);
    switch (got.kind) {
      case "got":
        return got;
      case "missing":
        return null;
      case "failed":
        return failed(got);
    }
  }

  /** Built once for the same lists, whoever asks meanwhile. */
  async function directoryOf(lists: readonly SourceDocument[]): Promise<TickerDirectory | Failure> {
    const key = lists.map(({ sha256 }) => sha256).join(" ");
    const underWay = directories.get(key);
    if (underWay) return underWay;
    const build = async (): Promise<TickerDirectory | Failure> => {
      const rows = [];
      for (const got of lists) {
        const json = await jsonOf(got);
        const read = json && parseTickerList(json.value);
        if (read === null)
          return discardInvalid(got.url.endsWith(TICKERS.path) ? TICKERS : EXCHANGES, got, "list of filers");
        rows.push(read);
      }
      return tickerDirectory(rows, yieldToEventLoop);
    };
    const built = build();
    directories.set(key, built);
    const forget = (): void => void (directories.peek(key) === built && directories.delete(key));
    built.then((made) => "kind" in made && forget(), forget);
    return built;
  }

  /** `missed`: somebody is on no list, so both are looked at as they are now or were within the hour. */
  async function tickerLists(caller: CallerContext, isMiss = false): Promise<Lists | Failure> {
    if (!isMiss && recentLists && clock.mono() - recentLists.checked_ms < LIST_RECENT_MS)
      return recentLists.lists;
    const age_s = isMiss ? LIST_AGE_FOR_MISSES_S : null;
    const first = await tickerList(EXCHANGES, age_s, caller);
    if (first?.kind === "failure") return first;
    const second = isMiss || first === null ? await tickerList(TICKERS, age_s, caller) : null;
    if (second?.kind === "failure") return second;
    const [main, ...others] = [first, second].filter((got) => got !== null);
    if (!main) return invalidAnswer("list of filers");
    const built = await directoryOf([main, ...others]);
    if ("kind" in built) return built;
    const made: Lists = { directory: built, documents: [main, ...others] };
    // From the cache it is, for whoever is answered from memory within the next minute.
    const cachedLists = { ...made, documents: [{ ...main, cached: true }] as [SourceDocument] };
    if (!isMiss) recentLists = { lists: cachedLists, checked_ms: clock.mono() };
    return made;
  }

  const isFailure = (value: object): value is Failure => "kind" in value && value.kind === "failure";

  async function submissionsOf(
    cik: number,
    caller: CallerContext,
  ): Promise<{ readonly kind: "read"; readonly got: SourceDocument; readonly read: Submissions } | Failure> {
    const address = { host: "data", path: `/submissions/CIK${padCik(cik)}.json` } as const;
    const got = await get({ ...address, kind: "submissions" }, caller);
    if (got.kind === "failed") return failed(got);
    if (got.kind === "missing")
      return failure("unknown_identifier", `The filing system knows no filer with CIK ${padCik(cik)}`);
    const cachedSubmissions = parsed.get(got.sha256)?.submissions;
    if (cachedSubmissions) return { kind: "read", got, read: cachedSubmissions };
    const json = await jsonOf(got);
    const read = json && parseSubmissions(json.value);
    if (!read) return discardInvalid(address, got, "submissions of this filer that make sense");
    parsed.set(got.sha256, { submissions: read, bytes: json.bytes });
    return { kind: "read", got, read };
  }

  async function pageOf(
    entry: PageEntry,
    caller: CallerContext,
  ): Promise<
    | { readonly kind: "page"; readonly entry: PageEntry; readonly got: SourceDocument; readonly rows: Rows }
    | Failure
  > {
    const address = { host: "data", path: `/submissions/${entry.name}` } as const;
    // A page whose entry is what it was when the page was read is still that page.
    const storedEntry = await documents.get("submissions_files", entry.name);
    const isSame = storedEntry !== null && JSON.stringify(storedEntry.value) === JSON.stringify(entry);
    const got = await get({ ...address, kind: "submissions", cache_ttl_s: isSame ? YEAR_S : null }, caller);
    if (got.kind === "failed") return failed(got);
    // A filer's own list names it, so it is there.
    if (got.kind === "missing") return invalidAnswer(`page of older filings "${entry.name}"`);
    const cachedRows = parsed.get(got.sha256)?.rows;
    let rows = cachedRows;
    if (!rows) {
      const json = await jsonOf(got);
      const read = json && parseRows(json.value);
      if (!read) return discardInvalid(address, got, "page of older filings that makes sense");
      parsed.set(got.sha256, { rows: read, bytes: json.bytes });
      rows = read;
    }
    if (!isSame) {
      const expires_at_ms = clock.now() + YEAR_S * 1_000;
      // Who comes second has read the same.
      await documents.put("submissions_files", entry.name, entry, storedEntry?.version ?? 0, {
        expires_at_ms,
      });
    }
    return { kind: "page", entry, got, rows };
  }

  const filerOf = ({
    cik,
    cik_padded,
    title,
    tickers,
    exchanges,
  }: Submissions["filer"]): ResolvedFiler["filer"] => ({
    cik: cik!,
    cik_padded,
    title,
    tickers,
    exchanges,
  });

  async function byCik(cik: number, caller: CallerContext): Promise<FilerLookup> {
    const lists = await tickerLists(caller);
    const listedFiler = isFailure(lists) ? null : lists.directory.byCik(cik);
    if (listedFiler && !isFailure(lists))
      return { kind: "found", filer: { ...listedFiler, cik }, documents: lists.documents };
    // Persons, funds and companies without a ticker; and anybody while no list can be had.
    const submissions = await submissionsOf(cik, caller);
    if (isFailure(submissions)) return submissions;
    return { kind: "found", filer: filerOf(submissions.read.filer), documents: [submissions.got] };
  }

  /** What the company register says of somebody who is on no list. */
  async function byRegister(
    question: Parameters<Register>[0],
    what: string,
    lists: Lists,
    caller: CallerContext,
  ): Promise<FilerLookup> {
    const answer = await register(question);
    if (answer.kind === "unknown")
      return failure(
        "unknown_identifier",
        `Neither the filing system nor the company register knows ${what}`,
      );
    if (answer.us_cik !== null) return byCik(answer.us_cik, caller);
    const candidates = lists.directory.byCompany(answer.names);
    const [only] = candidates;
    if (question.by === "isin" && only && candidates.length === 1)
      return { kind: "found", filer: { ...only, cik: only.cik! }, documents: lists.documents };
    const name = answer.company.name ?? what;
    return {
      ...failure(
        "not_registered_filer",
        only
          ? `${name} does not file under ${what}: see filer_candidates for filers of its name`
          : `${name} is known, but does not file with this filing system under ${what}`,
      ),
      hint: {
        company: answer.company,
        listing: question.by === "listing" ? question.listing : answer.listing,
        filer_candidates: [...candidates],
      },
    };
  }

  async function findFiler(filerRef: FilerRef, caller: CallerContext): Promise<FilerLookup> {
    if (filerRef.by === "cik") return byCik(filerRef.cik, caller);
    const usual = await tickerLists(caller);
    if (isFailure(usual)) return usual;
    switch (filerRef.by) {
      case "ticker": {
        const { ticker } = filerRef;
        const what = `ticker "${ticker.original}"`;
        const question = { by: "listing", listing: ticker.original } as const;
        if (!isListedHere(ticker)) return byRegister(question, what, usual, caller);
        const on = (found: Lists): FilerLookup | null => {
          const filer = found.directory.byTicker(ticker.symbol);
          return filer && { kind: "found", filer: { ...filer, cik: filer.cik! }, documents: found.documents };
        };
        const found = on(usual);
        if (found) return found;
        // Listed this week, or on the other list only.
        const both = await tickerLists(caller, true);
        if (isFailure(both)) return both;
        return on(both) ?? byRegister(question, what, both, caller);
      }
      case "name": {
        const candidates = usual.directory.byName(filerRef.name);
        const [only] = candidates;
        if (!only)
          return byRegister(
            { by: "name", name: filerRef.name },
            `the name "${filerRef.name}"`,
            usual,
            caller,
          );
        return candidates.length > 1
          ? { kind: "ambiguous", candidates, documents: usual.documents }
          : { kind: "found", filer: { ...only, cik: only.cik! }, documents: usual.documents };
      }
      case "isin":
        return byRegister({ by: "isin", isin: filerRef.isin }, `ISIN ${filerRef.isin}`, usual, caller);
    }
  }

  /** The CIK alone: without a request where it is what was asked. */
  async function cikOf(
    who: FilerRef,
    caller: CallerContext,
  ): Promise<{ readonly kind: "cik"; readonly cik: number } | Failure> {
    if (who.by === "cik") return { kind: "cik", cik: who.cik };
    const found = await findFiler(who, caller);
    switch (found.kind) {
      case "failure":
        return found;
      case "found":
        return { kind: "cik", cik: found.filer.cik };
      case "ambiguous":
        return failure("unknown_identifier", `The name means several filers; resolve it first`);
    }
  }

  /** Read before anything is asked of anybody. */
  function validated<Q>(result: ParseResult<Q>): Failure | Q {
    if (source === null) return NOT_CONFIGURED;
    return result.kind === "invalid" ? failure("invalid_identifier", result.message) : result.value;
  }

  const successResult = <F, C>(
    fields: F,
    common: C,
    got: readonly SourceDocument[],
  ): { answer: F & C; bodies: BodyReference[] } => ({
    answer: { ...fields, ...common },
    bodies: got.map(({ sha256, content_type }) => ({ sha256, content_type })),
  });

  const errorResult = <F>(
    fields: F,
    problem: Failure,
  ): { answer: F & typeof NO_COMMON_FIELDS; bodies: BodyReference[]; is_busy?: true } => {
    const { error, message, retry_after_s, hint, is_busy } = problem;
    return {
      answer: { ...fields, ...NO_COMMON_FIELDS, error, message, retry_after_s, ...(hint && { hint }) },
      bodies: [],
      ...(is_busy && { is_busy }),
    };
  };

  return {
    async resolve(named, caller) {
      const question = validated(parseResolveRequest(named));
      if (isFailure(question)) return errorResult(NO_FILER, question);
      const found = await findFiler(question.filer, caller);
      switch (found.kind) {
        case "failure":
          return errorResult(NO_FILER, found);
        case "ambiguous": {
          const fields = { ...NO_FILER, ambiguous: true, candidates: [...found.candidates] };
          return successResult(fields, commonOf(found.documents), found.documents);
        }
        case "found":
          return successResult({ ...NO_FILER, ...found.filer }, commonOf(found.documents), found.documents);
      }
    },

    async submissions(named, query, caller) {
      const question = validated(parseSubmissionsRequest(named, query));
      if (isFailure(question)) return errorResult(NO_SUBMISSIONS, question);
      const { filer: who, filter: wanted, limit, history } = question;
      const cik = await cikOf(who, caller);
      if (isFailure(cik)) return errorResult(NO_SUBMISSIONS, cik);
      const main = await submissionsOf(cik.cik, caller);
      if (isFailure(main)) return errorResult(NO_SUBMISSIONS, main);
      const { filer, recent: newest, pages } = main.read;
      const entries = history ? pages.filter((page) => canHold(page, wanted)) : [];
      const read: Exclude<Awaited<ReturnType<typeof pageOf>>, Failure>[] = [];
      for (let at = 0; at < entries.length; at += PAGES_AT_ONCE) {
        const batch = entries.slice(at, at + PAGES_AT_ONCE);
        for (const page of await Promise.all(batch.map(async (entry) => pageOf(entry, caller)))) {
          // Some filings would be missing and nobody would know.
          if (isFailure(page)) return errorResult(NO_SUBMISSIONS, page);
          read.push(page);
        }
      }
      await yieldToEventLoop();
      const { total, rows: places } = select([newest, ...read.map(({ rows }) => rows)], wanted, limit);
      const got: [SourceDocument, ...SourceDocument[]] = [main.got, ...read.map((page) => page.got)];
      const files: OlderPage[] = pages.map((entry) => {
        const page = read.find(({ entry: { name } }) => name === entry.name);
        return {
          ...entry,
          url: page?.got.url ?? main.got.url.replace(/[^/]*$/, entry.name),
          fetched: page !== undefined,
          body_url: page ? bodyUrl(page.got) : null,
        };
      });
      const filings: Filing[] = [];
      for (const place of places) {
        filings.push(filingOf(place, cik.cik, www_url));
        if (filings.length % ROWS_AT_ONCE === 0) await yieldToEventLoop();
      }
      const fields = {
        ...filer,
        filings,
        filings_total: total,
        truncated: total > places.length,
        files,
      };
      return successResult(fields, commonOf(got), got);
    },

    async latest(named, query, caller) {
      const question = validated(parseLatestRequest(named, query));
      if (isFailure(question)) return errorResult(NO_FILING, question);
      const { filer: who, forms } = question;
      const cik = await cikOf(who, caller);
      if (isFailure(cik)) return errorResult(NO_FILING, cik);
      const main = await submissionsOf(cik.cik, caller);
      if (isFailure(main)) return errorResult(NO_FILING, main);
      const { filer, recent: newest, pages } = main.read;
      const wanted = { forms, since: null, until: null };
      const got: [SourceDocument, ...SourceDocument[]] = [main.got];
      let [place] = select([newest], wanted, 1).rows;
      for (const entry of newestFirst(pages)) {
        if (place) break;
        const page = await pageOf(entry, caller);
        if (isFailure(page)) return errorResult(NO_FILING, page);
        got.push(page.got);
        [place] = select([page.rows], wanted, 1).rows;
      }
      const { cik_padded, name, tickers, exchanges } = filer;
      const company = { cik: cik.cik, cik_padded, name, tickers, exchanges };
      if (!place) {
        // Found out from documents that were had, and may be looked at.
        const message = `${name ?? `CIK ${cik_padded}`} has filed none of ${forms.join(", ")}`;
        const none = { ...commonOf(got), error: "not_found", message };
        return successResult({ ...NO_FILING, ...company }, none, got);
      }
      return successResult({ ...filingOf(place, cik.cik, www_url), ...company }, commonOf(got), got);
    },

    async facts(named, caller) {
      const question = validated(parseFactsRequest(named));
      if (isFailure(question)) return errorResult(NO_FACTS, question);
      const cik = await cikOf(question.filer, caller);
      if (isFailure(cik)) return errorResult(NO_FACTS, cik);
      const where = { host: "data", path: `/api/xbrl/companyfacts/CIK${padCik(cik.cik)}.json` } as const;
      const got = await get({ ...where, kind: "facts" }, caller);
      if (got.kind === "failed") return errorResult(NO_FACTS, failed(got));
      if (got.kind === "missing") {
        const isKnown = recentLists?.lists.directory.byCik(cik.cik) ?? null;
        const problem = isKnown === null ? await submissionsOf(cik.cik, caller) : null;
        if (problem && isFailure(problem)) return errorResult(NO_FACTS, problem);
        return errorResult(NO_FACTS, failure("not_found", `CIK ${padCik(cik.cik)} has filed no XBRL facts`));
      }
      const summary = factsSummaries.get(got.sha256) ?? (await countFacts(got));
      if (summary === null)
        return errorResult(NO_FACTS, await discardInvalid(where, got, "facts of this filer that make sense"));
      factsSummaries.set(got.sha256, summary);
      const { name, taxonomies, concepts } = summary;
      const fields = {
        cik: cik.cik,
        cik_padded: padCik(cik.cik),
        name,
        taxonomies,
        concepts,
        bytes: got.bytes,
      };
      return successResult(fields, commonOf([got]), [got]);
    },

    async filing(filed, caller) {
      const question = validated(parseFilingRequest(filed));
      if (isFailure(question)) return errorResult(NO_INDEX, question);
      const { cik, accession } = question;
      const where = { cik, accession, www_url };
      const folder = folderPath(cik, accession);
      const base = {
        ...NO_INDEX,
        index_url: `${www_url}${indexPath(cik, accession)}`,
        folder_url: `${www_url}${folder}`,
        accession,
        accession_nodash: withoutDashes(accession),
      };
      const page = async (path: string): Promise<ServiceResult<IndexAnswer> | null> => {
        const got = await get({ host: "www", path, kind: "index" }, caller);
        if (got.kind === "failed") return errorResult(NO_INDEX, failed(got));
        if (got.kind === "missing") return null;
        const read = await parseIndexPage((await bytesOf(got)).toString(), where, yieldToEventLoop);
        // A page that lists nothing may have a folder that does.
        if (!read || read.documents.length === 0) return null;
        const is_amendment = read.form === null ? null : /\/A$/i.test(read.form);
        const fields = { ...base, ...read, documents: [...read.documents], is_amendment };
        return successResult({ ...fields, index_source: "index_htm" as const }, commonOf([got]), [got]);
      };
      const usual = await page(indexPath(cik, accession));
      if (usual) return usual;
      const listing = { host: "www", path: `${folder}index.json` } as const;
      const got = await get({ ...listing, kind: "index" }, caller);
      if (got.kind === "failed") return errorResult(NO_INDEX, failed(got));
      if (got.kind === "missing") {
        // Where neither is, there may still be the page beside the folder.
        const beside = await page(flatIndexPath(cik, accession));
        if (beside) return beside;
        return errorResult(
          NO_INDEX,
          failure("not_found", `There is no filing ${accession} of CIK ${padCik(cik)}`),
        );
      }
      const json = await jsonOf(got);
      const items = json && parseFolderListing(json.value, where);
      if (!items)
        return errorResult(NO_INDEX, await discardInvalid(listing, got, "listing of this filing's folder"));
      const fields = { ...base, index_source: "index_json" as const, documents: [...items] };
      return successResult(fields, commonOf([got]), [got]);
    },

    async search(query, caller) {
      const question = validated(parseSearchRequest(query, clock.now()));
      if (isFailure(question)) return errorResult(NO_HITS, question);
      const where = { host: "search", path: fullTextPath(question) } as const;
      const got = await get({ ...where, kind: "search" }, caller);
      if (got.kind === "failed") return errorResult({ ...NO_HITS, query: question.q }, failed(got));
      const nothing = { ...NO_HITS, query: question.q };
      if (got.kind === "missing") return errorResult(nothing, invalidAnswer("search result"));
      const json = await jsonOf(got);
      const found = json && parseFullTextAnswer(json.value, www_url);
      if (!found)
        return errorResult(nothing, await discardInvalid(where, got, "search result that makes sense"));
      const fields = { query: question.q, ...found, hits: [...found.hits] };
      return successResult(fields, commonOf([got]), [got]);
    },

    async document(filed, caller) {
      const question = validated(parseDocumentRequest(filed));
      if (isFailure(question)) return documentError("", question);
      const { cik, accession, document, max_bytes, accept_pdf, cache_ttl_s } = question;
      const within = folderPath(cik, accession);
      const path = `${within}${encodeURIComponent(document)}`;
      const url = `${www_url}${path}`;
      const began_ms = clock.mono();
      const got = await get({ host: "www", path, kind: "document", within, max_bytes, cache_ttl_s }, caller);
      const ms = Math.round(clock.mono() - began_ms);
      switch (got.kind) {
        case "failed": {
          const { error, message, retry_after_s, status, redirects } = got;
          const record = { ...EMPTY_RECORD, status, redirects };
          const problem = error === "too_large" ? failure(error, message, retry_after_s) : failed(got);
          return documentError(url, problem, record, ms);
        }
        case "missing": {
          const problem = failure("not_found", `There is no "${document}" in the folder of ${accession}`);
          return documentError(url, problem, { ...EMPTY_RECORD, status: got.status }, ms);
        }
        case "got": {
          const record = recordOf(got);
          if (got.bytes > max_bytes) {
            const problem = failure(
              "too_large",
              `"${document}" has ${got.bytes} bytes, max_bytes is ${max_bytes}`,
            );
            return documentError(url, problem, { ...record, sha256: null, body_kind: null }, ms);
          }
          const text = await textOf(got, caller);
          if (text === null) {
            const problem = failure("timeout", `The text of "${document}" could not be read in time`);
            return documentError(url, problem, { ...record, sha256: null, body_kind: null }, ms);
          }
          if (text.content_kind === "pdf" && !accept_pdf) {
            const problem = failure("pdf_not_accepted", `"${document}" is a PDF, and accept_pdf is false`);
            const unread = { ...record, content_kind: text.content_kind, sha256: null, body_kind: null };
            return documentError(url, problem, unread, ms);
          }
          const { note, ...read } = text;
          const attempts = got.cached
            ? []
            : [{ tier: "direct", status: got.status, reason: "ok", ms, detail: note }];
          const answer = {
            ...FETCHED,
            record: { ...record, ...read },
            attempts,
            cached: got.cached,
            revalidated: got.revalidated,
          };
          return { url, answer, bodies: [{ sha256: got.sha256, content_type: got.content_type }] };
        }
      }
    },
  };

  async function countFacts({ sha256 }: SourceDocument): Promise<FactsSummary | null> {
    const counter = factsCounter();
    for await (const piece of await piecesOf(sha256)) {
      for (let at = 0; at < piece.length; at += COUNTED_BYTES) {
        counter.push(piece.subarray(at, at + COUNTED_BYTES));
        await yieldToEventLoop();
      }
    }
    return counter.end();
  }

  /** Null: not in the asker's time. */
  async function textOf(
    { sha256, bytes, final_url, content_type }: SourceDocument,
    { id, deadline_ms }: CallerContext,
  ): Promise<FilingText | null> {
    const stored = asFilingText((await documents.get("filing_texts", textKey(sha256)))?.value);
    if (stored) return stored;
    const wait_ms = Math.max(1_000, Math.min(MAX_READ_MS, deadline_ms - clock.now()));
    const message = { sha256, bytes, url: final_url, content_type };
    return ask(FilingTextExtractor, sha256, "extract", message, {
      timeout_ms: wait_ms,
      idempotency_id: `${id} ${sha256}`,
    }).catch((problem: unknown) => {
      if (problem instanceof Fault && problem.code === "no_answer" && clock.now() >= deadline_ms) return null;
      throw problem;
    });
  }
}

/** A slice of facts that are counted takes about half a millisecond. */
const COUNTED_BYTES = 256 * 1024;
/** Reading a large PDF takes a minute at most. */
const MAX_READ_MS = 120_000;

const bodyUrl = ({ sha256 }: SourceDocument): string => `/v1/bodies/${sha256}`;

const NO_COMMON_FIELDS: {
  readonly error: string | null;
  readonly message: string | null;
  readonly retry_after_s: number | null;
  readonly cached: boolean;
  readonly retrieved_at: string | null;
  readonly source_url: string | null;
  readonly body_url: string | null;
  readonly sha256: string | null;
} = {
  error: null,
  message: null,
  retry_after_s: null,
  cached: false,
  retrieved_at: null,
  source_url: null,
  body_url: null,
  sha256: null,
};

/** What an answer says of where it comes from: the first document is the main one. */
function commonOf(documents: readonly [SourceDocument, ...SourceDocument[]]): typeof NO_COMMON_FIELDS {
  const [main] = documents;
  return {
    ...NO_COMMON_FIELDS,
    cached: documents.every(({ cached }) => cached),
    retrieved_at: documents.map(({ retrieved_at }) => retrieved_at).toSorted()[0]!,
    source_url: main.url,
    body_url: bodyUrl(main),
    sha256: main.sha256,
  };
}

type Fields<A> = Omit<WithoutRequestId<A>, keyof typeof NO_COMMON_FIELDS | "hint">;

const NO_FILER: Fields<ResolveAnswer> = {
  cik: null,
  cik_padded: null,
  title: null,
  tickers: [],
  exchanges: [],
  ambiguous: false,
  candidates: [],
};

const NO_SUBMISSIONS: Fields<SubmissionsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  title: null,
  tickers: [],
  exchanges: [],
  entity_type: null,
  sic: null,
  sic_description: null,
  category: null,
  fiscal_year_end: null,
  state_of_incorporation: null,
  ein: null,
  lei: null,
  website: null,
  phone: null,
  business_address: null,
  former_names: [],
  filings: [],
  filings_total: null,
  truncated: false,
  files: [],
};

const NO_FILING: Fields<LatestAnswer> = {
  accession: null,
  form: null,
  filing_date: null,
  report_date: null,
  acceptance_datetime: null,
  act: null,
  file_number: null,
  film_number: null,
  items: null,
  core_type: null,
  size: null,
  is_xbrl: null,
  is_inline_xbrl: null,
  primary_document: null,
  primary_document_description: null,
  primary_document_url: null,
  index_url: null,
  is_amendment: null,
  cik: null,
  cik_padded: null,
  name: null,
  tickers: [],
  exchanges: [],
};

const NO_FACTS: Fields<FactsAnswer> = {
  cik: null,
  cik_padded: null,
  name: null,
  taxonomies: {},
  concepts: null,
  bytes: null,
};

const NO_INDEX: Fields<IndexAnswer> = {
  form: null,
  filing_date: null,
  report_date: null,
  accepted: null,
  company: null,
  is_amendment: null,
  index_url: null,
  folder_url: null,
  accession: null,
  accession_nodash: null,
  index_source: null,
  documents: [],
};

const NO_HITS: Fields<FilingSearchAnswer> = { query: null, total: null, total_relation: null, hits: [] };

const FETCHED: FetchAnswer = {
  record: EMPTY_RECORD,
  attempts: [],
  cached: false,
  revalidated: false,
  cost_usd: "0",
  error: null,
  error_detail: null,
  retry_after_s: null,
  premium_routes_tried: false,
};

const recordOf = (got: SourceDocument): PageRecord => ({
  ...EMPTY_RECORD,
  final_url: got.final_url,
  redirects: [...got.redirects],
  status: got.status,
  content_type: got.content_type,
  origin_content_type: got.content_type,
  headers: exposedHeaders(new Map(Object.entries(got.headers))),
  tier: "direct",
  sha256: got.sha256,
  bytes: got.bytes,
  body_kind: "origin",
  etag: got.headers["etag"] ?? null,
  last_modified: got.headers["last-modified"] ?? null,
  retrieved_at: got.retrieved_at,
});

/** No document, in the form of a fetch. */
function documentError(
  url: string,
  { error, message, retry_after_s, is_busy }: Failure,
  record: PageRecord = EMPTY_RECORD,
  ms = 0,
): DocumentResult {
  const wasAsked = url !== "";
  const attempts = wasAsked
    ? [{ tier: "direct", status: record.status, reason: error, ms, detail: message }]
    : [];
  return {
    url,
    answer: { ...FETCHED, record, attempts, error, error_detail: message, retry_after_s },
    bodies: [],
    ...(is_busy && { is_busy }),
  };
}
