/**
 * From the name a caller uses for a filer (CIK, ticker, company name, ISIN) to the filer: the lists of filers first,
 * then the filer's own submissions for a CIK, or the company register for anything else.
 */
import type { FilerCompany } from "../../../schemas/filings.ts";
import { type FilerSubmissions, NO_ROWS } from "./filer-submissions.ts";
import type { ListedFilers, Lists } from "./listed-filers.ts";
import type { FilerRef } from "./parse-request.ts";
import type { Register, RegisterQuery } from "./register.ts";
import { type CallerContext, type Failure, failure, isFailure, type SourceDocuments } from "./results.ts";
import { isListedHere } from "./ticker-lists.ts";

export interface ResolvedFiler {
  readonly kind: "found";
  readonly filer: FilerCompany & { readonly cik: number };
  /** The documents that name the filer. */
  readonly documents: SourceDocuments;
}

export interface AmbiguousFiler {
  readonly kind: "ambiguous";
  readonly candidates: readonly FilerCompany[];
  readonly documents: SourceDocuments;
}

export interface FilerFinder {
  readonly find: (ref: FilerRef, caller: CallerContext) => Promise<ResolvedFiler | AmbiguousFiler | Failure>;
  /** The CIK alone, without a request where the caller named the filer by it. */
  readonly cikOf: (
    ref: FilerRef,
    caller: CallerContext,
  ) => Promise<{ readonly kind: "cik"; readonly cik: number } | Failure>;
}

export interface FilerFinderDeps {
  readonly listed: ListedFilers;
  readonly submissions: FilerSubmissions;
  readonly register: Register;
}

export function filerFinder({ listed, submissions, register }: FilerFinderDeps): FilerFinder {
  async function byCik(cik: number, caller: CallerContext): Promise<ResolvedFiler | Failure> {
    const lists = await listed.lists(caller);
    if (!isFailure(lists)) {
      const found = await lists.find({ by: "cik", cik }, caller);
      const filer = isFailure(found) ? undefined : found.filers[0];
      if (filer) return resolved(filer, lists);
    }
    // Persons, funds and companies without a ticker, and every filer while no list can be read.
    const own = await submissions.submissionsOf(cik, NO_ROWS, caller);
    if (isFailure(own)) return own;
    const { cik_padded, title, tickers, exchanges } = own.filer;
    return {
      kind: "found",
      filer: { cik: own.filer.cik!, cik_padded, title, tickers, exchanges },
      documents: [own.document],
    };
  }

  /** `described`: the name the caller used, as it stands in an error message. */
  async function byRegister(
    query: RegisterQuery,
    described: string,
    lists: Lists,
    caller: CallerContext,
  ): Promise<ResolvedFiler | Failure> {
    const answer = await register(query, caller);
    if (answer.kind === "unknown")
      return failure(
        "unknown_identifier",
        `Neither the filing system nor the company register knows ${described}`,
      );
    if (answer.us_cik !== null) return byCik(answer.us_cik, caller);
    const found = await lists.find({ by: "company", names: answer.names }, caller);
    if (isFailure(found)) return found;
    const candidates = found.filers;
    const [first] = candidates;
    if (query.by === "isin" && first && candidates.length === 1) return resolved(first, lists);
    const name = answer.company.name ?? described;
    return {
      ...failure(
        "not_registered_filer",
        first
          ? `${name} does not file under ${described}: see filer_candidates for filers of its name`
          : `${name} is known, but does not file with this filing system under ${described}`,
      ),
      hint: {
        company: answer.company,
        // A plain ticker is no listing: it does not say where.
        listing: query.by === "listing" && /[:.]/.test(query.listing) ? query.listing : answer.listing,
        filer_candidates: [...candidates],
      },
    };
  }

  async function byTicker(
    { ticker }: Extract<FilerRef, { by: "ticker" }>,
    lists: Lists,
    caller: CallerContext,
  ): Promise<ResolvedFiler | Failure> {
    const described = `ticker "${ticker.original}"`;
    const query = { by: "listing", listing: ticker.original } as const;
    if (!isListedHere(ticker)) return byRegister(query, described, lists, caller);
    const question = { by: "ticker", symbol: ticker.symbol } as const;
    const found = await lists.find(question, caller);
    if (isFailure(found)) return found;
    const [filer] = found.filers;
    if (filer) return resolved(filer, lists);
    // A new listing, or a ticker that only the second list has.
    const newLists = await listed.lists(caller, true);
    if (isFailure(newLists)) return newLists;
    const newlyFound = await newLists.find(question, caller);
    if (isFailure(newlyFound)) return newlyFound;
    const [newFiler] = newlyFound.filers;
    return newFiler ? resolved(newFiler, newLists) : byRegister(query, described, newLists, caller);
  }

  async function find(
    ref: FilerRef,
    caller: CallerContext,
  ): Promise<ResolvedFiler | AmbiguousFiler | Failure> {
    if (ref.by === "cik") return byCik(ref.cik, caller);
    const lists = await listed.lists(caller);
    if (isFailure(lists)) return lists;
    switch (ref.by) {
      case "ticker":
        return byTicker(ref, lists, caller);
      case "isin":
        return byRegister({ by: "isin", isin: ref.isin }, `ISIN ${ref.isin}`, lists, caller);
      case "name": {
        const found = await lists.find({ by: "name", name: ref.name }, caller);
        if (isFailure(found)) return found;
        const candidates = found.filers;
        const [first] = candidates;
        if (!first)
          return byRegister({ by: "name", name: ref.name }, `the name "${ref.name}"`, lists, caller);
        if (candidates.length === 1) return resolved(first, lists);
        return { kind: "ambiguous", candidates, documents: lists.documents };
      }
    }
  }

  return {
    find,
    async cikOf(ref, caller) {
      if (ref.by === "cik") return { kind: "cik", cik: ref.cik };
      const filer = await find(ref, caller);
      switch (filer.kind) {
        case "failure":
          return filer;
        case "found":
          return { kind: "cik", cik: filer.filer.cik };
        case "ambiguous":
          return failure("unknown_identifier", `The name means several filers; resolve it first`);
      }
    },
  };
}

/** Every filer of the lists has a CIK. */
const resolved = (filer: FilerCompany, { documents }: Lists): ResolvedFiler => ({
  kind: "found",
  filer: { ...filer, cik: filer.cik! },
  documents,
});
