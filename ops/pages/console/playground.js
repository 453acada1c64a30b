/** One request by hand: fetch, search, map, crawl or extract, what the service tried, and the same request to copy. */
import { useState } from "./preact-hooks.js";
import { Choice, Code, Field, Form, html, link, Table } from "./console-parts.js";
import { samplesOf } from "./console-samples.js";
import { ask } from "./console-service.js";

/** Extraction is a fetch with rules. */
const PATHS = { extract: "/v1/fetch" };

const KINDS = {
  fetch: ["Fetch a page", "url", "Address"],
  search: ["Search the web", "query", "Query"],
  map: ["List a site's addresses", "url", "Address"],
  crawl: ["Crawl a site", "url", "Start address"],
  extract: ["Extract values from a page", "url", "Address"],
};

const RULES = '{"title": {"selector": "h1"}}';

function objectOf(label, text) {
  if (!text) return {};
  try {
    const value = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  throw new Error(`${label}: Input should be a JSON object`);
}

/** Attempts one after another, as long as they took. The table beside it says the same in words. */
function Timeline({ attempts }) {
  const total = Math.max(
    1,
    attempts.reduce((sum, { ms }) => sum + ms, 0),
  );
  let at = 0;
  const bars = attempts.map(({ tier, reason, ms }) => {
    const x = (at / total) * 1000;
    at += ms;
    const width = Math.max(4, (ms / total) * 1000);
    return html`<rect class=${reason === "ok" ? "good" : "bad"} x=${x} y="0" width=${width} height="28"
      ><title>${tier}: ${reason}, ${ms} ms</title></rect
    >`;
  });
  const last = attempts.at(-1);
  return html`<figure>
      <figcaption>
        ${`${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} in ${total} ms; the last one, by ${last.tier}: ${last.reason}`}
      </figcaption>
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label="Attempts as a timeline">
        ${bars}
      </svg>
    </figure>
    <${Table}
      caption="Attempts"
      rows=${attempts}
      columns=${[
        ["Route", ({ tier }) => tier],
        ["Status", ({ status }) => status ?? "", true],
        ["Reason", ({ reason }) => reason],
        ["Time in ms", ({ ms }) => ms, true],
      ]}
    />`;
}

function Samples({ path, body }) {
  const samples = samplesOf(path, body, location.origin);
  const [copied, setCopied] = useState("");
  const copy = async (language, text) => {
    await navigator.clipboard.writeText(text);
    setCopied(`Copied as ${language}`);
  };
  return html`<section aria-label="Copy as">
    <h2>Copy as</h2>
    ${Object.entries(samples).map(
      ([language, text]) =>
        html`<details>
          <summary>${language}</summary>
          <${Code} text=${text} label=${`The request as ${language}`} />
          <button type="button" onClick=${() => copy(language, text)}>Copy as ${language}</button>
        </details>`,
    )}
    <p role="status">${copied}</p>
  </section>`;
}

function summaryOf(kind, answer) {
  if (kind === "crawl")
    return html`The crawl runs as a job: <a href=${`#/jobs/${answer.job_id}`}>watch it</a>`;
  if (answer.error) return `${answer.error}${answer.error_detail ? `: ${answer.error_detail}` : ""}`;
  if (kind === "search") return `${answer.results.length} results by ${answer.provider}`;
  if (kind === "map") return `${answer.links.length} of ${answer.total} addresses`;
  return `${answer.title ?? answer.final_url}: ${answer.bytes} bytes by ${answer.cached ? "the cache" : `route ${answer.tier}`}`;
}

function Answer({ kind, path, body, answer, ms }) {
  const entries = answer.results ?? answer.links ?? [];
  return html`<section aria-label="Answer">
    <h2>Answer</h2>
    <p role="status" class=${answer.error ? "problem" : ""}>
      ${summaryOf(kind, answer)} (${Math.round(ms)} ms)
    </p>
    ${answer.attempts?.length > 0 && html`<${Timeline} attempts=${answer.attempts} />`}
    ${
      entries.length > 0 &&
      html`<ol>
        ${entries.slice(0, 100).map(({ url, title }) => html`<li>${title ?? ""} ${link(url)}</li>`)}
      </ol>`
    }
    ${
      answer.extract &&
      html`<${Code} text=${JSON.stringify(answer.extract, null, 2)} label="Values of the page" />`
    }
    ${answer.text && html`<${Code} text=${answer.text} label="Text of the page" />`}
    <details>
      <summary>Answer as JSON</summary>
      <${Code} text=${JSON.stringify(answer, null, 2)} label="Answer as JSON" />
    </details>
    <${Samples} path=${path} body=${body} />
  </section>`;
}

export function Playground() {
  const [kind, setKind] = useState("fetch");
  const [shown, setShown] = useState(null);
  const [, field, label] = KINDS[kind];
  const submit = async ({ subject, options, limit, rules }) => {
    setShown(null);
    const path = PATHS[kind] ?? `/v1/${kind}`;
    const body = {
      [field]: subject,
      ...(kind === "crawl" && { limit: Number(limit) }),
      ...(kind === "extract" && { extract: { fields: objectOf("Rules", rules) } }),
      ...objectOf("Options", options),
    };
    const began = performance.now();
    const answer = await ask("POST", path, body);
    setShown({ kind, path, body, answer, ms: performance.now() - began });
    if (kind === "crawl") location.hash = `#/jobs/${answer.job_id}`;
  };
  return html`<${Form} label="Request" submit=${KINDS[kind][0]} onSubmit=${submit}>
      <${Choice}
        label="What"
        name="kind"
        value=${kind}
        onChange=${(event) => setKind(event.currentTarget.value)}
        options=${Object.entries(KINDS).map(([id, [name]]) => [id, name])}
      />
      <${Field}
        label=${label}
        name="subject"
        required
        maxlength="8192"
        placeholder=${field === "url" ? "https://example.org/" : ""}
      />
      ${kind === "crawl" && html`<${Field} label="At most so many pages" name="limit" type="number" min="1" max="1000" value="100" />`}
      ${
        kind === "extract" &&
        html`<label
          >Rules as JSON: a CSS selector for each value
          <textarea name="rules" rows="4" required spellcheck=${false} placeholder=${RULES}></textarea>
        </label>`
      }
      <label
        >Options as JSON
        <textarea name="options" rows="2" spellcheck=${false} placeholder='{"timeout_s": 30}'></textarea>
      </label>
      <p class="quiet">
        Every option is in the <a href="/docs">API reference</a>. A request is billed as by a program.
      </p>
    <//>
    ${shown && html`<${Answer} ...${shown} />`}`;
}
