/** What the views are made of: tables, messages, buttons that say what they do before they do it, and reading again and again. */
import { h } from "./preact.js";
import { useCallback, useEffect, useRef, useState } from "./preact-hooks.js";
import htm from "./htm.js";

export const html = htm.bind(h);

const VISIBLE_MS = 2_000;
const HIDDEN_MS = 10_000;

/** What `read` answers, read again every two seconds while the tab is seen, until `isOver` says so. */
export function useLive(read, inputs, isOver = () => false) {
  const [state, setState] = useState({ value: null, problem: null });
  const refresh = useCallback(async () => {
    try {
      const value = await read();
      setState({ value, problem: null });
      return value;
    } catch (problem) {
      setState((before) => ({ ...before, problem: problem.message }));
      return null;
    }
  }, inputs);
  useEffect(() => {
    let timer = null;
    let isGone = false;
    const turn = async () => {
      const value = await refresh();
      if (isGone || (value !== null && isOver(value))) return;
      timer = setTimeout(turn, document.hidden ? HIDDEN_MS : VISIBLE_MS);
    };
    void turn();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, inputs);
  return { ...state, refresh };
}

export const once = () => true;

export const Problem = ({ text }) => (text ? html`<p class="problem" role="alert">${text}</p>` : null);

/** `columns`: [heading, cell of a row, is a number]. */
export function Table({ caption, columns, rows, empty = "There is nothing yet." }) {
  if (rows.length === 0) return html`<p class="quiet">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(([name, , isNumber]) => html`<th scope="col" class=${isNumber ? "number" : ""}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map(([, cell, isNumber]) => html`<td class=${isNumber ? "number" : ""}>${cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A button that opens a question: what will happen, then yes or no. `run` does it. */
export function Action({ label, what, run, of }) {
  const name = `${label}: ${of}`;
  const dialog = useRef(null);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await run();
      dialog.current?.close();
    } catch (failed) {
      setProblem(failed.message);
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" aria-label=${name} onClick=${() => dialog.current.showModal()}>
      ${label}
    </button>
    <dialog ref=${dialog} aria-label=${name} onClose=${() => setProblem(null)}>
      <h2>${name}</h2>
      <p>${what}</p>
      <${Problem} text=${problem} />
      <p class="row">
        <button type="button" class="main" disabled=${isBusy} onClick=${confirm}>${label}</button>
        <button type="button" onClick=${() => dialog.current.close()}>Leave it as it is</button>
      </p>
    </dialog>`;
}

/** A form whose submission may fail; `onSubmit` gets its fields as texts, empty ones left out. */
export function Form({ label, submit, onSubmit, children }) {
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    setBusy(true);
    setProblem(null);
    try {
      await onSubmit(fields, form);
    } catch (failed) {
      setProblem(failed.message);
    } finally {
      setBusy(false);
    }
  };
  return html`<form aria-label=${label} onSubmit=${send}>
    ${children}
    <button class="main" disabled=${isBusy}>${isBusy ? "Asking…" : submit}</button>
    <${Problem} text=${problem} />
  </form>`;
}

export const Field = ({ label, ...traits }) =>
  html`<label>${label} <input autocomplete="off" spellcheck=${false} ...${traits} /></label>`;

export function Choice({ label, name, options, ...traits }) {
  return html`<label
    >${label}
    <select name=${name} ...${traits}>
      ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
    </select></label
  >`;
}

export const Code = ({ text, label }) =>
  html`<pre tabindex="0" role="region" aria-label=${label}>${text}</pre>`;

export const when = (iso) =>
  iso ? html`<time datetime=${iso}>${iso.slice(0, 19).replace("T", " ")}</time>` : "";

/** Only addresses of the web become links. */
export const link = (url) =>
  /^https?:\/\//.test(url ?? "")
    ? html`<a href=${url} rel="noreferrer" target="_blank">${url}</a>`
    : (url ?? "");
