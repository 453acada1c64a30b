// The documentation's search, tabs and buttons that copy. The pages can be read without it.
import MiniSearch from "./minisearch.js";

const MAX_FOUND = 12;
const CHOSEN = "trawl.language";

// --- search ---

const form = document.querySelector("header form");
const input = form.querySelector("input");
const found = document.querySelector("#found");
/** Its entries are addresses relative to its own. */
const source = new URL(form.dataset.index, location.href);
let index = null;

function loadIndex() {
  index ??= fetch(source)
    .then((answer) => answer.json())
    .then((json) =>
      MiniSearch.loadJS(json, {
        idField: "href",
        fields: ["title", "heading", "body"],
        storeFields: ["title", "heading"],
      }),
    );
  return index;
}

async function search() {
  const query = input.value.trim();
  const all =
    query === ""
      ? []
      : (await loadIndex()).search(query, {
          boost: { title: 4, heading: 3 },
          prefix: true,
          fuzzy: (term) => (term.length > 4 ? 0.2 : false),
          combineWith: "AND",
        });
  if (input.value.trim() !== query) return;
  found.replaceChildren(
    ...all.slice(0, MAX_FOUND).map(({ id, title, heading }) => {
      const link = document.createElement("a");
      link.href = new URL(id, source).href;
      link.append(heading || title);
      if (heading) {
        const page = document.createElement("small");
        page.append(title);
        link.append(page);
      }
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
  );
  if (query !== "" && all.length === 0) {
    const item = document.createElement("li");
    item.append("Nothing was found");
    found.append(item);
  }
  found.hidden = query === "";
}

form.hidden = false;
input.addEventListener("focus", () => void loadIndex(), { once: true });
input.addEventListener("input", () => void search());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
form.addEventListener("keydown", (event) => {
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") {
    found.hidden = true;
    input.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = event.key === "ArrowDown" ? at + 1 : at - 1;
    (links[next] ?? input).focus();
  }
});
form.addEventListener("focusout", ({ relatedTarget }) => {
  if (!form.contains(relatedTarget)) found.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea")) return;
  event.preventDefault();
  input.focus();
});

// --- tabs: the language that was chosen last, on every page ---

const chosen = () => localStorage.getItem(CHOSEN) ?? "";

const tabs = [...document.querySelectorAll(".tabs")].map((group, n) => {
  const panels = [...group.querySelectorAll("section")];
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language of the example");
  const buttons = panels.map((panel, at) => {
    const button = document.createElement("button");
    const { label } = panel.dataset;
    button.type = "button";
    button.id = `tab-${n}-${at}`;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", `panel-${n}-${at}`);
    button.append(label);
    button.addEventListener("click", () => {
      localStorage.setItem(CHOSEN, label);
      for (const show of tabs) show(label);
    });
    panel.id = `panel-${n}-${at}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    return button;
  });
  list.append(...buttons);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
    next.click();
    next.focus();
  });
  group.prepend(list);
  group.classList.add("ready");
  const show = (label) => {
    const at = Math.max(
      0,
      panels.findIndex((panel) => panel.dataset.label === label),
    );
    for (const [place, panel] of panels.entries()) {
      panel.hidden = place !== at;
      buttons[place].setAttribute("aria-selected", String(place === at));
      buttons[place].tabIndex = place === at ? 0 : -1;
    }
  };
  show(chosen());
  return show;
});

// --- buttons that copy, where the browser lets a page do so ---

if (navigator.clipboard)
  for (const block of document.querySelectorAll("main pre")) {
    const around = document.createElement("div");
    around.className = "code";
    const button = document.createElement("button");
    button.type = "button";
    button.append("Copy");
    button.addEventListener("click", () => {
      void navigator.clipboard.writeText(block.textContent).then(() => (button.textContent = "Copied"));
    });
    block.replaceWith(around);
    around.append(button, block);
  }

// --- the menu is open where there is room for it ---

const wide = matchMedia("(min-width: 60.01rem)");
const menu = document.querySelector(".menu-toggle");
const fit = () => (menu.open = wide.matches);
wide.addEventListener("change", fit);
fit();
