/** GLEIF on loopback, with invented companies: records by LEI, a search by name, and faults on request. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface LeiCompany {
  readonly lei: string;
  readonly name: string;
  readonly former?: readonly string[];
  readonly city?: string;
  readonly country?: string;
  readonly status?: "ACTIVE" | "INACTIVE";
  readonly bic?: string;
  /** Code of the authority and number. */
  readonly registered?: readonly [string, string];
  readonly isins?: readonly string[];
}

export interface Gleif {
  readonly url: string;
  readonly companies: Map<string, LeiCompany>;
  /** Lookups of records, by LEI. */
  readonly lookups: string[];
  /** Answer in place of the record: HTML, nothing at all, or an error. */
  fault: "none" | "html" | "hang" | "500" | "503";
  readonly close: () => Promise<void>;
}

/** Makes a LEI of 18 characters valid: ISO 7064 mod 97-10. */
export function leiOf(first18: string): string {
  let rest = 0;
  for (const char of `${first18}00`) {
    const value = parseInt(char, 36);
    rest = (rest * (value < 10 ? 10 : 100) + value) % 97;
  }
  return first18 + String(98 - rest).padStart(2, "0");
}

function recordOf({
  lei,
  name,
  former = [],
  city = "Basel",
  country = "CH",
  status = "ACTIVE",
  bic,
  isins,
  registered,
}: LeiCompany) {
  const address = {
    language: "de",
    addressLines: ["Seeweg 1"],
    addressNumber: null,
    city,
    region: null,
    country,
    postalCode: "4000",
  };
  return {
    type: "lei-records",
    id: lei,
    attributes: {
      lei,
      entity: {
        legalName: { name, language: "de" },
        otherNames: former.map((each) => ({ name: each, language: "de", type: "PREVIOUS_LEGAL_NAME" })),
        transliteratedOtherNames: [],
        legalAddress: address,
        headquartersAddress: address,
        registeredAt: { id: registered?.[0] ?? "RA999999", other: null },
        registeredAs: registered?.[1] ?? null,
        jurisdiction: country,
        category: "GENERAL",
        legalForm: { id: "9999", other: "AG" },
        status,
        expiration: { date: null, reason: null },
        successorEntities: [],
        creationDate: "2004-12-01T00:00:00Z",
        otherAddresses: [],
        eventGroups: [],
      },
      registration: {
        status: "ISSUED",
        corroborationLevel: "FULLY_CORROBORATED",
        lastUpdateDate: "2025-05-01T00:00:00Z",
        managingLou: "529900GRZ2BQY5ZM9N49",
      },
      bic: bic === undefined ? null : [bic],
      ocid: null,
    },
    relationships: isins === undefined ? {} : { isins: { links: { related: `/lei-records/${lei}/isins` } } },
    links: { self: `/lei-records/${lei}` },
  };
}

export async function gleif(): Promise<Gleif> {
  const companies = new Map<string, LeiCompany>();
  const lookups: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url!, "http://gleif.test");
    if (state.fault === "hang") return;
    if (state.fault === "500" || state.fault === "503")
      return void response.writeHead(Number(state.fault)).end();
    if (state.fault === "html")
      return void response.writeHead(200, { "content-type": "text/html" }).end("<html>Wartung");
    const lei = /\/lei-records\/([0-9A-Z]{20})$/.exec(url.pathname)?.[1];
    if (lei !== undefined) {
      lookups.push(lei);
      const company = companies.get(lei);
      return company ? json(response, 200, { data: recordOf(company) }) : json(response, 404, { errors: [] });
    }
    const issuer = companies.get(/\/lei-records\/([0-9A-Z]{20})\/isins$/.exec(url.pathname)?.[1] ?? "");
    if (issuer !== undefined)
      return json(response, 200, {
        meta: { pagination: { currentPage: 1, perPage: 200, total: issuer.isins?.length ?? 0, lastPage: 1 } },
        data: (issuer.isins ?? []).map((isin) => ({ attributes: { isin, lei: issuer.lei } })),
      });
    if (url.pathname === "/lei-records") {
      const [isin, bic] = [url.searchParams.get("filter[isin]"), url.searchParams.get("filter[bic]")];
      const found = [...companies.values()].filter(
        (each) => (isin === null || each.isins?.includes(isin)) && (bic === null || each.bic === bic),
      );
      return json(response, 200, {
        meta: { pagination: { currentPage: 1, perPage: 20, total: found.length, lastPage: 1 } },
        data: found.map(recordOf),
      });
    }
    return json(response, 404, { errors: [] });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const state: Gleif = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    companies,
    lookups,
    fault: "none",
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return state;
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/vnd.api+json" }).end(JSON.stringify(value));
}
