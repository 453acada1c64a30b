/** A state as a small picture (SVG) for other pages: a name, a state in words and in colour. Pure. */
import { escapeHtml } from "../../../../gateway/html-page.ts";
import type { Status } from "../../../../schemas/status.ts";
import { WORDS } from "./parts.ts";

/** White text has a contrast of 4.5 at least on each. */
const COLOURS: Readonly<Record<Status, string>> = {
  operational: "#18794e",
  maintenance: "#2f6fd0",
  degraded: "#8a5a00",
  partial_outage: "#b84a00",
  major_outage: "#c62828",
};
const HEIGHT = 20;
/** The width of a character of 11 px sans-serif, enough for most characters; `textLength` keeps wider ones inside. */
const CHARACTER_PX = 6.6;
const PADDING = 12;

export function badge(name: string, status: Status): string {
  const words = WORDS[status];
  const [left, right] = [widthOf(name), widthOf(words)];
  const title = escapeHtml(`${name}: ${words}`);
  const text = (content: string, from: number, width: number): string =>
    `<text x="${from + PADDING / 2}" y="14" textLength="${width - PADDING}" lengthAdjust="spacingAndGlyphs">${escapeHtml(content)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${title}"><title>${title}</title><rect width="${left}" height="${HEIGHT}" fill="#444"/><rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[status]}"/><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${text(name, 0, left)}${text(words, left, right)}</g></svg>
`;
}

const widthOf = (text: string): number => Math.ceil(text.length * CHARACTER_PX) + PADDING;
