/** For operators: the audit log of operators, who changed what and when. */
import { Code, html, Problem, Table, useLive, when } from "./console-parts.js";
import { ask } from "./console-service.js";

const COLUMNS = [
  ["When", ({ at }) => when(at)],
  ["By", ({ by }) => by],
  ["What", ({ operation }) => operation],
  ["Of", ({ path }) => path],
  ["Answer", ({ status }) => status, true],
  [
    "Asked for",
    ({ body }) => (body === null ? "" : html`<${Code} text=${body} label="What was asked for" />`),
  ],
];

export function Operations() {
  const { value, problem } = useLive(() => ask("GET", "/v1/ops/audit"), []);
  return html`<p>
      What operators have changed over HTTP, in this console as well; kept for 400 days, the newest 200 are
      shown. The command line's changes of stores are not in it. Changes of keys are on${" "}
      <a href="#/keys">Keys</a>.
    </p>
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Changes by operators, newest first" columns=${COLUMNS} rows=${value.entries} empty="Nothing was changed yet." />`}`;
}
