/** The filing system as callers see it (2-adapters.md, part A), on a filing system of ours that serves made-up documents. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Edgar, edgar } from "../edgar.ts";
import { type Asked, type Service, SETUPS } from "../service.ts";



describe.each(SETUPS)("filings, $setup", ({ start }) => {
  let upstream: Edgar;
  let service: Service;
  beforeAll(async () => {
    upstream = await edgar();
    service = await start(upstream.environment);
  });
  afterAll(async () => {
    await service.close();
    await upstream.close();
  });

  const get = async (path: string, asked?: Asked) => {
    const said = await service.call("GET", `/v1/filings${path}`, asked);
    expect([said.status, path]).toEqual([200, path]);
    return said.json;
  };

  test("a ticker is resolved from the list, and then from memory", async () => {
    const harbour = await get("/companies/resolve?ticker=hli");
    expect(harbour).toMatchObject({
      cik: 9_000_001,
      cik_padded: "0009000001",
      title: "Harbour Lights Inc.",
      tickers: ["HLI"],
      exchanges: ["Nasdaq"],
      ambiguous: false,
      candidates: [],
      error: null,
      source_url: `${upstream.urls.www}/files/company_tickers_exchange.json`,
    });
    const again = await get("/companies/resolve?ticker=TWF.A");
    expect(again).toMatchObject({ cik: 9_000_002, tickers: ["TWF-A", "TWF-B"], cached: true });
    const body = await service.call("GET", harbour.body_url);
    expect([body.status, body.json.fields[0]]).toEqual([200, "cik"]);
  });
});
