/** For operators: nodes with their tiers and breakers, what the service says of itself, and domains. */
import { useState } from "./preact-hooks.js";
import { Action, Choice, Code, Field, Form, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const NODES = [
  ["Node", ({ node }) => node],
  ["Version", ({ version, commit }) => `${version}${commit ? ` (${commit})` : ""}`],
  ["Roles", ({ roles }) => roles.join(", ")],
  ["Since", ({ started_ms }) => when(new Date(started_ms).toISOString())],
  ["State", ({ draining }) => (draining ? "draining" : "works")],
  ["Partitions", ({ partitions }) => partitions.length, true],
  ["Actors", ({ active_actors }) => active_actors, true],
  ["Work", ({ background_works }) => background_works, true],
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
const OWNED = [
  ["Node", ({ node }) => node],
  ["Owned", ({ partitions }) => partitions.length, true],
  ["Partitions", ({ partitions }) => ranges(partitions.map(({ partition }) => partition))],
  ["Highest epoch", ({ partitions }) => Math.max(0, ...partitions.map(({ epoch }) => epoch)), true],
];
const COMPONENTS = [
  ["Component", ({ name }) => name],
  ["State", ({ status }) => status.replaceAll("_", " ")],
  ["Why", ({ reasons }) => reasons.join(", ")],
];
const JOBS = [
  ["Job", ({ job_id }) => job_id],
  ["Project", ({ project }) => project],
  ["Kind", ({ kind }) => kind],
  ["Created", ({ created_ms }) => when(new Date(created_ms).toISOString())],
  ["Done", ({ finished, total }) => `${finished} of ${total}`, true],
  ["In flight", ({ in_flight }) => in_flight, true],
  ["Waits for", ({ waits_for }) => waits_for ?? ""],
  ["Actions", ({ job_id }) => html`<${JobActions} job_id=${job_id} />`],
];

/** 0, 1, 2, 5 as "0–2, 5". */
function ranges(numbers) {
  const found = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = found.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(", ");
}

function Partitions({ nodes, count }) {
  if (count === 0)
    return html`<p class="quiet">A single process owns every key: there are no partitions.</p>`;
  const owned = new Set(nodes.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)));
  const unowned = Array.from({ length: count }, (_, partition) => partition).filter(
    (each) => !owned.has(each),
  );
  return html`<${Table} caption="Partitions, by their owners" columns=${OWNED} rows=${nodes} />
    <p role="status">
      ${unowned.length === 0 ? `Each of the ${count} partitions has an owner.` : `Owned by no node: ${ranges(unowned)}. Messages to them wait.`}
    </p>`;
}

function JobActions({ job_id }) {
  const set = (paused) => () => ask("POST", `/v1/ops/jobs/${job_id}`, { paused });
  return html`<span class="row">
    <${Action}
      label="Pause"
      of=${`job ${job_id}`}
      run=${set(true)}
      what="Items in flight end, no further one starts, on whichever node the job is, until it is resumed. The customer sees that it is paused, and cannot resume it."
    />
    <${Action}
      label="Resume"
      of=${`job ${job_id}`}
      run=${set(false)}
      what="The job goes on with its other items, at its customer's cost, unless the customer paused it as well."
    />
  </span>`;
}

export function Nodes() {
  const { value, problem } = useLive(
    async () => ({ ...(await ask("GET", "/v1/ops/nodes")), status: await ask("GET", "/v1/status") }),
    [],
  );
  if (value === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  const { nodes, partitions, status } = value;
  const of = (field) => nodes.flatMap((entry) => entry[field].map((each) => ({ node: entry.node, ...each })));
  return html`<${Problem} text=${problem} />
    <p role="status">${status.description}, at ${when(status.updated_at)}.</p>
    <${Table} caption="Nodes" columns=${NODES} rows=${nodes} />
    <h2>Tiers</h2>
    <${Table} caption="Tiers and their breakers, by node" columns=${TIERS} rows=${of("tiers")} />
    <h2>Partitions</h2>
    <${Partitions} nodes=${nodes} count=${partitions} />
    <h2>Components</h2>
    <${Table} caption="Components of the public status" columns=${COMPONENTS} rows=${status.components} />
    <h2>Jobs</h2>
    <${Table}
      caption="Unfinished jobs of all projects, oldest first"
      columns=${JOBS}
      rows=${nodes.flatMap(({ jobs = [] }) => jobs).toSorted((a, b) => a.created_ms - b.created_ms)}
      empty="No job is unfinished."
    />`;
}

const seen = [
  ["Domain", ({ domain }) => html`<a href=${`#/domains/${domain}`}>${domain}</a>`],
  ["Node", ({ node }) => node],
  ["Requests", ({ requests }) => requests, true],
  ["Failed", ({ failures }) => failures, true],
  ["Mean in ms", ({ mean_ms }) => mean_ms ?? "", true],
  ["In flight", ({ in_flight }) => in_flight, true],
  ["Waiting", ({ waiting }) => waiting, true],
  [
    "State",
    ({ is_paused, slowed = [] }) =>
      [...(is_paused ? ["paused"] : []), ...(slowed.length > 0 ? [`slow: ${slowed.join(", ")}`] : [])].join(
        "; ",
      ),
  ],
];
const ORDERS = {
  busiest: ["Busiest first", ({ requests }) => requests],
  slowest: ["Slowest first", ({ mean_ms }) => mean_ms ?? 0],
  waiting: ["Most waiting first", ({ waiting }) => waiting],
  paused: ["Paused first", ({ is_paused }) => Number(is_paused)],
};

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
  const [order, setOrder] = useState("busiest");
  const weight = ORDERS[order][1];
  const { value, problem } = useLive(() => ask("GET", "/v1/ops/nodes"), []);
  const rows = (value?.nodes ?? [])
    .flatMap(({ node, domains = [] }) => domains.map((each) => ({ node, ...each })))
    .toSorted((a, b) => weight(b) - weight(a));
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
    <${Choice}
      label="Order"
      name="order"
      value=${order}
      onChange=${(event) => setOrder(event.currentTarget.value)}
      options=${Object.entries(ORDERS).map(([id, [name]]) => [id, name])}
    />
    ${value && html`<${Table} caption="Domains of the last ten minutes" columns=${seen} rows=${rows} empty="No domain was asked in the last ten minutes." />`}`;
}
