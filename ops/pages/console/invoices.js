/** The invoices of the account, each as a page to print. For account admin keys. */
import { html, once, Problem, Table, useLive } from "./console-parts.js";
import { ask, download } from "./console-service.js";
import { useState } from "./preact-hooks.js";

const day = (iso) => (iso ? html`<time datetime=${iso}>${iso.slice(0, 10)}</time>` : "");

function Save({ id }) {
  const [problem, setProblem] = useState(null);
  const save = (form, type) => () => {
    setProblem(null);
    download(`/v1/invoices/${id}?format=${form}`, `${id}.${form}`, type).catch(({ message }) =>
      setProblem(message),
    );
  };
  return html`<span class="row">
    <button type="button" aria-label=${`Save ${id} as a page`} onClick=${save("html", "text/html")}>
      Page
    </button>
    <button type="button" aria-label=${`Save ${id} as PDF`} onClick=${save("pdf", "application/pdf")}>
      PDF
    </button>
    <button type="button" aria-label=${`Save ${id} as JSON`} onClick=${save("json", "application/json")}>
      JSON
    </button>
    <${Problem} text=${problem} />
  </span>`;
}

const COLUMNS = [
  ["Invoice", ({ id }) => id],
  ["Period", ({ period }) => period],
  ["Status", ({ status }) => status],
  ["To be paid", ({ payable, currency }) => `${payable} ${currency}`, true],
  ["Issued", ({ issued_at }) => day(issued_at)],
  ["Due", ({ due_at }) => day(due_at)],
  ["Paid", ({ paid_at }) => day(paid_at)],
  ["Save", ({ id }) => html`<${Save} id=${id} />`],
];

export function Invoices() {
  const { value, problem } = useLive(() => ask("GET", "/v1/invoices"), [], once);
  return html`<p>
      An invoice is issued on the first of each month for the month before. The page is made to be printed;
      the PDF is the same page.
    </p>
    <${Problem} text=${problem} />
    ${value && html`<${Table} caption="Invoices of the account, newest first" columns=${COLUMNS} rows=${value.invoices} empty="No invoice was issued yet." />`}`;
}
