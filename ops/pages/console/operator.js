/** For operators: nodes with their tiers and breakers, what the service says of itself, and domains. */
import { useState } from "./preact-hooks.js";
import { Action, Code, Field, Form, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const NODES = [
  ["Node", ({ node }) => node],
  ["Version", ({ version, commit }) => `${version}${commit ? ` (${commit})` : ""}`],
  ["Roles", ({ roles }) => roles.join(", ")],
  ["Since", ({ started_ms }) => when(new Date(started_ms).toISOString())],
  ["State", ({ draining }) => (draining ? "draining" : "works")],
  ["Partitions", ({ partitions }) => partitions.length, true],
  ["Actors", ({ active_actors }) => active_actors, true],
  ["Waiting asks", ({ pending_asks }) => pending_asks, true],
];
const TIERS = [
  ["Node", ({ node }) => node],
  ["Tier", ({ tier }) => tier],
  ["Breaker", ({ breaker }) => breaker],
  ["In use", ({ in_use, capacity }) => `${in_use} of ${capacity}`, true],
  ["Waiting", ({ waiting }) => waiting, true],
  ["Attempts", ({ attempts }) => attempts, true],
  ["Successes", ({ successes }) => successes, true],
  ["Faults of our own", ({ infrastructure_failures }) => infrastructure_failures, true],
  ["p95 in ms", ({ p95_ms }) => p95_ms ?? "", true],
];
const COMPONENTS = [
  ["Component", ({ name }) => name],
  ["State", ({ status }) => status.replaceAll("_", " ")],
  ["Why", ({ reasons }) => reasons.join(", ")],
];
const INCIDENTS = [
  ["Incident", ({ title, name, id }) => title ?? name ?? id],
  ["State", ({ status }) => status],
  ["Since", ({ started_at, created_at }) => when(started_at ?? created_at)],
];

export function Nodes() {
  const { value, problem } = useLive(
    async () => ({ ...(await ask("GET", "/v1/ops/nodes")), status: await ask("GET", "/v1/status") }),
    [],
  );
  if (value === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  const { nodes, status } = value;
  const of = (field) => nodes.flatMap((entry) => entry[field].map((each) => ({ node: entry.node, ...each })));
  return html`<${Problem} text=${problem} />
    <p role="status">${status.description}, at ${when(status.updated_at)}.</p>
    <${Table} caption="Nodes" columns=${NODES} rows=${nodes} />
    <h2>Tiers</h2>
    <${Table} caption="Tiers and their breakers, by node" columns=${TIERS} rows=${of("tiers")} />
    <h2>Components</h2>
    <${Table} caption="Components of the public status" columns=${COMPONENTS} rows=${status.components} />
    <h2>Incidents and maintenance</h2>
    <${Table}
      caption="Incidents"
      columns=${INCIDENTS}
      rows=${[...status.incidents, ...status.maintenance]}
      empty="There is none. The command line writes them: trawl incident, trawl maintenance."
    />`;
}

const seen = [
  ["Domain", ({ domain }) => html`<a href=${`#/domains/${domain}`}>${domain}</a>`],
  ["Node", ({ node }) => node],
  ["In flight", ({ in_flight }) => in_flight ?? "", true],
  ["Waiting", ({ waiting }) => waiting ?? "", true],
];

function Domain({ domain }) {
  const [delay, setDelay] = useState("2000");
  const path = `/v1/ops/domains/${encodeURIComponent(domain)}`;
  const { value, problem, refresh } = useLive(() => ask("GET", path), [domain]);
  if (value === null) return html`<${Problem} text=${problem} />`;
  const set = (body) => async () => {
    await ask("POST", path, body);
    await refresh();
  };
  return html`<section aria-label=${domain}>
    <h2>${domain}</h2>
    <${Problem} text=${problem} />
    <dl>
      <dt>Delay</dt>
      <dd>${value.min_delay_ms} ms</dd>
      <dt>At once</dt>
      <dd>${value.max_concurrency}</dd>
      <dt>In flight</dt>
      <dd>${value.in_flight}</dd>
      <dt>Waiting</dt>
      <dd>${value.waiting}</dd>
    </dl>
    <label
      >Delay in ms
      <input
        type="number"
        min="0"
        max="900000"
        value=${delay}
        onInput=${(event) => setDelay(event.currentTarget.value)}
    /></label>
    <p class="row">
      <${Action}
        label="Set the delay"
        of=${domain}
        run=${set({ min_delay_ms: Number(delay) })}
        what=${`All nodes wait ${delay} ms between two requests to ${domain}, at once and after a restart, until it is taken back.`}
      />
      <${Action}
        label="Pause for an hour"
        of=${domain}
        run=${set({ pause_s: 3600 })}
        what=${`No request is sent to ${domain} for an hour: callers get domain_busy, items of jobs wait.`}
      />
      <${Action}
        label="End the pause"
        of=${domain}
        run=${set({ pause_s: null })}
        what=${`Requests to ${domain} are sent again.`}
      />
      <${Action}
        label="As configured"
        of=${domain}
        run=${set({ min_delay_ms: null, max_concurrency: null, pause_s: null })}
        what=${`Delay, concurrency and pause of ${domain} are as the service is configured.`}
      />
      <${Action}
        label="Forget failures"
        of=${domain}
        run=${async () => {
          await ask("DELETE", path);
          await refresh();
        }}
        what=${`Failures, skips, dead hosts and profiles of hosts of ${domain} are forgotten; what the site asked for is kept. The ladder begins anew.`}
      />
    </p>
    <details>
      <summary>All that is stored of it</summary>
      <${Code} text=${JSON.stringify(value, null, 2)} label=${`What is stored of ${domain}`} />
    </details>
  </section>`;
}

export function Domains({ place: [domain] }) {
  const { value, problem } = useLive(() => ask("GET", "/v1/ops/nodes"), []);
  const rows = (value?.nodes ?? []).flatMap(({ node, domains }) =>
    domains.map((each) => ({ node, ...each })),
  );
  return html`<${Form}
      label="A domain"
      submit="Show"
      onSubmit=${({ name }) => {
        location.hash = `#/domains/${name.trim()}`;
      }}
    >
      <${Field} label="Domain" name="name" required maxlength="253" placeholder="example.org" />
    <//>
    ${domain && html`<${Domain} domain=${decodeURIComponent(domain)} />`}
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Domains that nodes work on at present" columns=${seen} rows=${rows} empty="No domain is at work at present." />`}`;
}
