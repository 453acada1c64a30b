/** For operators: messages that the service gave up, each with what broke it; to be sent again or deleted. */
import { Action, Code, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const PATH = "/v1/ops/dead-letters";

function Letter({ id, refreshAll }) {
  const { value, problem } = useLive(
    () => ask("GET", `${PATH}/${id}`),
    [id],
    () => true,
  );
  if (value === null) return html`<${Problem} text=${problem} />`;
  const act = (method) => async () => {
    await ask(method, `${PATH}/${id}`);
    await refreshAll();
    if (method === "DELETE") location.hash = "#/letters";
  };
  return html`<section aria-label=${`Dead letter ${id}`}>
    <h2>Dead letter ${id}</h2>
    <dl>
      <dt>To</dt>
      <dd>${value.actor}/${value.key}</dd>
      <dt>Operation</dt>
      <dd>${value.operation}</dd>
      <dt>Sent again</dt>
      <dd>${value.retries} times</dd>
    </dl>
    <${Code} text=${value.problem} label=${`What broke dead letter ${id}`} />
    <${Code}
      text=${value.message ?? "The message was too long to be kept"}
      label=${`The message of dead letter ${id}`}
    />
    <p class="row">
      <${Action}
        label="Send again"
        of=${`dead letter ${id}`}
        run=${act("POST")}
        what="A running node sends the message again within a minute. It leaves the list when it was taken; its effect may come a second time where the first turn broke after it."
      />
      <${Action}
        label="Delete"
        of=${`dead letter ${id}`}
        run=${act("DELETE")}
        what="The message is deleted for good: what it asked for is not done."
      />
    </p>
  </section>`;
}

const COLUMNS = [
  ["Letter", ({ id }) => html`<a href=${`#/letters/${id}`}>${id}</a>`],
  ["Given up", ({ given_up_at }) => when(given_up_at)],
  ["To", ({ actor, key }) => `${actor}/${key}`],
  ["Operation", ({ operation }) => operation],
  ["State", ({ state }) => state],
  ["Problem", ({ problem }) => problem.split("\n")[0].slice(0, 80)],
];

export function DeadLetters({ place: [id] }) {
  const { value, problem, refresh } = useLive(() => ask("GET", PATH), []);
  return html`<p>
      Messages that broke their turn five times. At most 500 are kept, for 30 days; a bug of the service is
      behind each.
    </p>
    ${/^\d+$/.test(id ?? "") && html`<${Letter} id=${id} refreshAll=${refresh} />`}
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Dead letters, newest first" columns=${COLUMNS} rows=${value.dead_letters} empty="There is none." />`}`;
}
