/** OpenFIGI on loopback: it answers each job of a mapping with the lines that a test gives it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface Job {
  readonly idType: string;
  readonly idValue: string;
  readonly exchCode?: string;
}

interface Line {
  readonly figi: string;
  readonly name: string;
  readonly ticker: string;
  readonly exchCode: string;
  readonly shareClassFIGI: string;
  readonly securityType2: string;
}

export interface OpenFigi {
  readonly url: string;
  /** Lines of every share; `isin` is not told. */
  readonly lines: (Line & { readonly isin: string })[];
  readonly close: () => Promise<void>;
}

export async function openFigi(): Promise<OpenFigi> {
  const lines: OpenFigi["lines"] = [];
  const answersTo = (jobs: readonly Job[]) =>
    jobs.map(({ idType, idValue, exchCode }) => {
      const data = lines
        .filter((line) => {
          if (idType === "ID_ISIN") return line.isin === idValue;
          if (idType === "TICKER") return line.ticker === idValue && line.exchCode === exchCode;
          return line.shareClassFIGI === idValue;
        })
        .map((line) => ({ ...line, isin: undefined }));
      return data.length === 0 ? { warning: "No identifier found." } : { data };
    });
  const server = createServer((request, response) => {
    void json(request).then((jobs) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify(answersTo(jobs as readonly Job[]))),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lines,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
