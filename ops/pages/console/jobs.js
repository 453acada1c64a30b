/** Jobs and crawls while they run: how far they are, what failed and why, the results as files. */
import { useState } from "./preact-hooks.js";
import { Action, Field, Form, html, link, once, Problem, Table, useLive, when } from "./console-parts.js";
import { ask, download } from "./console-service.js";

const OPEN = new Set(["queued", "running"]);
/** Why no further item starts, by `waits_for`. */
const WAITS = {
  items_stored: "its items are being stored",
  items_loaded: "its items are being loaded",
  items_stopped: "its last items stop",
  paused_by_client: "it is paused",
  paused_by_operator: "the operator of this service paused it",
  customer_suspended: "the account is suspended",
  key_read: "its key is being read",
  share: "other jobs have the cluster",
  sites: "its sites are busy, or items wait for another attempt",
  quota: "other work holds the rest of the key’s quota",
};
const PAUSED = { client: "paused", operator: "paused by the operator" };
const stateOf = ({ status, paused }) => PAUSED[paused] ?? status;
const COLUMNS = [
  ["Job", ({ job_id }) => html`<a href=${`#/jobs/${job_id}`}>${job_id}</a>`],
  ["Kind", ({ kind }) => kind],
  ["State", stateOf],
  ["Done", ({ counts }) => counts.done, true],
  ["Failed", ({ counts }) => counts.failed, true],
  ["Total", ({ counts }) => counts.total, true],
  ["Created", ({ created_at }) => when(created_at)],
];

export function Jobs() {
  const { value, problem } = useLive(() => ask("GET", "/v1/jobs?limit=50"), []);
  return html`<${Problem} text=${problem} />
    <${Form}
      label="A job by its id"
      submit="Show"
      onSubmit=${({ id }) => {
        location.hash = `#/jobs/${id.trim()}`;
      }}
    >
      <${Field} label="Job" name="id" required maxlength="64" />
    <//>
    ${
      value &&
      html`<${Table}
        caption="Jobs of the project, newest first"
        columns=${COLUMNS}
        rows=${value.items}
        empty="The project has no jobs. A crawl on “Try it” makes one."
      />`
    }`;
}

function Progress({ counts }) {
  const { total, done, failed, cancelled } = counts;
  const share = (count) => (count / Math.max(1, total)) * 1000;
  const ended = done + failed + cancelled;
  return html`<figure>
    <figcaption>
      ${ended} of ${total} items have ended: ${done} done, ${failed} failed, ${cancelled}${" "}
      cancelled${
        counts.discovered == null
          ? ""
          : `; ${counts.discovered} addresses found, ${counts.excluded} of them excluded`
      }
    </figcaption>
    <svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label="Progress">
      <rect class="rest" width="1000" height="20" />
      <rect class="good" width=${share(done)} height="20" />
      <rect class="bad" x=${share(done)} width=${share(failed)} height="20" />
    </svg>
  </figure>`;
}

/** Of crawls the addresses have their reasons; of other jobs the items do. At most 1,000 of them are counted. */
async function failuresOf({ job_id, kind, counts }) {
  if (kind === "crawl") {
    const { items } = await ask("GET", `/v1/jobs/${job_id}/urls?limit=1000`);
    return items.filter(({ reason }) => reason).map(({ url, reason }) => ({ subject: url, reason }));
  }
  if (counts.failed === 0) return [];
  const { items } = await ask("GET", `/v1/jobs/${job_id}?include=items&status=failed&limit=1000`);
  return items.map(({ input, error, result }) => ({
    subject: input?.url ?? input?.query ?? JSON.stringify(input),
    reason: error ?? result?.error ?? "failed",
  }));
}

const REASONS = [
  ["Reason", ({ reason }) => reason],
  ["How many", ({ subjects }) => subjects.length, true],
  ["Of them", ({ subjects }) => html`${link(subjects[0])}`],
];

function Reasons({ failures }) {
  const rows = [...Map.groupBy(failures, ({ reason }) => reason)]
    .map(([reason, entries]) => ({ reason, subjects: entries.map(({ subject }) => subject) }))
    .toSorted((a, b) => b.subjects.length - a.subjects.length);
  return html`<h2>Failed and excluded, by reason</h2>
    <${Table}
      caption="Reasons, of at most 1,000 items"
      columns=${REASONS}
      rows=${rows}
      empty="Nothing has failed or was excluded."
    />`;
}

function Files({ job_id, kind }) {
  const [problem, setProblem] = useState(null);
  const save = (path, name, accept) => () => {
    setProblem(null);
    download(path, name, accept).catch(({ message }) => setProblem(message));
  };
  return html`<h2>Results</h2>
    <p class="row">
      <button
        type="button"
        onClick=${save(`/v1/jobs/${job_id}/results`, `${job_id}.ndjson`, "application/x-ndjson")}
      >
        Results as NDJSON
      </button>
      <button type="button" onClick=${save(`/v1/jobs/${job_id}/results`, `${job_id}.csv`, "text/csv")}>
        Results as CSV
      </button>
      ${
        kind === "crawl" &&
        html`<button type="button" onClick=${save(`/v1/jobs/${job_id}/urls.csv`, `${job_id}-addresses.csv`)}>
          Addresses as CSV
        </button>`
      }
    </p>
    <${Problem} text=${problem} />`;
}

function Live({ progress }) {
  const { items_per_s, in_flight, waits_for, waits_until, waits_for_sites } = progress;
  return html`<dt>Rate</dt>
    <dd>${items_per_s.toFixed(items_per_s < 10 ? 2 : 0)} items a second over the last minute</dd>
    <dt>In flight</dt>
    <dd>${in_flight}</dd>
    <dt>Waits because</dt>
    <dd>
      ${waits_for === null ? "it does not wait: items run" : (WAITS[waits_for] ?? waits_for)}
      ${waits_until !== null && html`, until ${when(waits_until)}`}
      ${waits_for_sites.length > 0 && ` (asked for a while without requests: ${waits_for_sites.join(", ")})`}
    </dd>`;
}

function Actions({ job, refresh }) {
  const { job_id, counts, paused } = job;
  const rest = counts.total - counts.done - counts.failed - counts.cancelled;
  const pause = (is_paused) => async () => {
    await ask("PATCH", `/v1/jobs/${job_id}`, { paused: is_paused });
    await refresh();
  };
  return html`<p class="row">
    <${Action}
      label="Cancel"
      of="the job"
      what=${`Items in flight end; the other ${rest} items are cancelled for good. What is done stays, and stays billed.`}
      run=${async () => {
        await ask("DELETE", `/v1/jobs/${job_id}`);
        await refresh();
      }}
    />
    ${
      paused === null &&
      html`<${Action}
        label="Pause"
        of="the job"
        what=${`Items in flight end and are billed; none of the other ${rest} items starts until the job is resumed. A job that is paused for 30 days is cancelled.`}
        run=${pause(true)}
      />`
    }
    ${
      paused === "client" &&
      html`<${Action}
        label="Resume"
        of="the job"
        what=${`The job goes on with its other ${rest} items, at the cost of the key that began it.`}
        run=${pause(false)}
      />`
    }
    ${paused === "operator" && html`<span class="quiet">Only the operator of this service resumes it.</span>`}
  </p>`;
}

export function Job({ place: [job_id] }) {
  const {
    value: job,
    problem,
    refresh,
  } = useLive(
    () => ask("GET", `/v1/jobs/${encodeURIComponent(job_id)}?include=progress`),
    [job_id],
    ({ status }) => !OPEN.has(status),
  );
  const { value: failures } = useLive(
    async () => (job === null ? [] : failuresOf(job)),
    [job?.updated_at, job?.status],
    once,
  );
  if (job === null)
    return html`<${Problem} text=${problem} />
      <p class="quiet">${problem ? "" : "Asking…"}</p>`;
  return html`<${Problem} text=${problem} />
    <p role="status">The ${job.kind} job is <strong>${stateOf(job)}</strong>.</p>
    <${Progress} counts=${job.counts} />
    <dl>
      ${job.progress && html`<${Live} progress=${job.progress} />`}
      <dt>Created</dt>
      <dd>${when(job.created_at)}</dd>
      <dt>Ended</dt>
      <dd>${when(job.finished_at) || "not yet"}</dd>
      <dt>Callback</dt>
      <dd>
        ${job.callback_url ? html`${job.callback_url}: ${job.callback_status ?? "not yet delivered"}` : "none"}
      </dd>
    </dl>
    ${OPEN.has(job.status) && html`<${Actions} job=${job} refresh=${refresh} />`}
    <${Files} ...${job} />
    <${Reasons} failures=${failures ?? []} />`;
}
