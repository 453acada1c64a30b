/** Pages whose documents hold nothing to read: what web components and frames show is in the answer, in every form of the page. */
import { describe, expect, test } from "vitest";
import { readPdf } from "../../actors/reading/content/pdf.ts";
import { monthBefore } from "../../actors/business/accounts/invoices.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import { monthOf } from "../../schemas/accounts.ts";
import { batchKey, newBatchTag } from "../../schemas/ledger.ts";
import { packRows } from "../../schemas/ledger-batch.ts";
import { chromium_path } from "../harness/installed-browser.ts";
import { client } from "../harness/jobs-client.ts";
import { ledgerRow } from "../harness/ledger-row.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, prose } from "../harness/web.ts";

const COMPONENT = `<!doctype html><title>Lamps</title><lamp-page><a slot=more href=/more>More lamps</a></lamp-page><script>
  customElements.define("lamp-page", class extends HTMLElement {
    connectedCallback() {
      this.attachShadow({ mode: "open" }).innerHTML =
        "<main><h1>A lamp of brass</h1><p>${prose(12)}</p><p class=price>48 francs</p><slot name=more></slot></main>";
    }
  });
</script>`;

describe.runIf(chromium_path !== null).each(SETUPS)("what a page shows, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_CHROMIUM_PATH: chromium_path! }));

  test("is the text of a web component, and what rules and links find in it, single and in a job", async () => {
    const { origin } = sites.site({ "/": { body: COMPONENT } });
    const url = `${origin}/`;
    const options = {
      formats: ["markdown", "links"] as const,
      extract: { fields: { price: { selector: "lamp-page .price", type: "number" as const } } },
    };
    const plain = await service.fetch({ url, render: "never" });
    expect(plain.text ?? "").not.toContain("brass");
    const page = await service.fetch({ url, ...options, formats: [...options.formats] });
    expect(page).toMatchObject({
      tier: "browser",
      text: expect.stringContaining("A lamp of brass"),
      markdown: expect.stringContaining("# A lamp of brass"),
      links: [{ url: `${origin}/more` }],
      extract: { data: { price: 48 } },
    });
    const jobs = client(service);
    const { json: job } = await jobs.create([{ url, render: "always", cache_ttl_s: 0 }]);
    await jobs.finished(job.job_id);
    const { json } = await service.call("GET", `/v1/jobs/${job.job_id}?include=items`);
    expect(json.items[0].result.text).toContain("A lamp of brass");
  });

  test("is an invoice as PDF, too: its text can be selected, a page is counted, and no other account has it", async () => {
    await service.trawl("customer", "create", "printed");
    await service.trawl("project", "create", "printing", "--customer", "printed");
    const { key } = await service.trawl("key", "create", "--project", "printing", "--admin");
    const month = monthBefore(monthOf(Date.now()));
    const at_ms = Date.parse(`${month}-15T12:00:00Z`);
    const row = ledgerRow({ at_ms, project: "printing", category: "fetch_paid", cost_micros: 4_000_000 });
    const documents = await openDocuments(readConfig(service.environment));
    const tag = newBatchTag("printed");
    await documents.put("ledger", batchKey("printed", at_ms, "test"), packRows([row]), 0, { tag });
    await documents.close();
    const { id } = await service.trawl("invoice", "draw", "printed", "--month", month);
    const path = `/v1/invoices/${id}`;
    const saved = await service.call("GET", `${path}?format=pdf`, { key });
    expect(saved.headers).toMatchObject({ "content-type": "application/pdf", "cache-control": "no-store" });
    const { page_count, text } = await readPdf(saved.bytes, () => 0);
    expect(page_count).toBe(1);
    expect(text).toMatch(new RegExp(`Invoice ${id}[^]*To be paid \\$4\\.00[^]*1 / 1`));
    const accept = { accept: "application/pdf" };
    expect((await service.call("GET", path, { key, headers: accept })).bytes.toString("latin1", 0, 5)).toBe(
      "%PDF-",
    );
    expect((await service.call("GET", `${path}?format=pdf`)).status).toBe(404);
  });

  test("is what its frames show where robots.txt allows them; the attempt says what was not read", async () => {
    const stranger = sites.site({ "/": { body: article("Stranger") } });
    const frames = ["/open", "/closed", `${stranger.origin}/`].map((src) => `<iframe src="${src}"></iframe>`);
    const site = sites.site({
      "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /closed" },
      "/": { body: `<title>Notes</title><p>${prose(6)}</p>${frames.join("")}` },
      "/open": { body: `<p>An open note. ${prose(6, "the lighthouse")}` },
      "/closed": { body: `<p>A closed note. ${prose(6, "the mill")}` },
    });
    const page = await service.fetch({ url: `${site.origin}/`, render: "always" });
    expect(page.text).toMatch(/the harbour[^]*An open note[^]*the lighthouse/);
    expect(page.html).not.toMatch(/closed note|Stranger</);
    // A page of a private network loads no frames of other origins.
    expect(page.attempts.at(-1)!.detail).toBe(
      "Frames that were not read: 1 that robots.txt does not allow, or could not be asked for; 1 that could not be loaded",
    );
  });
});
