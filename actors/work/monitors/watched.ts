/** The part of a page whose change counts, and the lines that its diff is made of. Pure. */
import type { FetchResponse } from "../../../schemas/fetch.ts";
import type { Watch } from "../../../schemas/monitors.ts";

export type VisitedPage = Pick<FetchResponse, "status" | "text" | "markdown" | "links" | "retrieved_at">;

export interface Watched {
  /** Another one is a change. */
  readonly value: string;
  /** Lines, for the diff. */
  readonly document: string;
}

/** The forms of the page that are read. */
export const FORMATS_OF = {
  text: ["markdown"],
  markdown: ["markdown"],
  status: [],
  links: ["links"],
} as const satisfies Record<Watch, readonly string[]>;

const lines = (text: string): string => `${text.trim()}\n`;

export function watchedOf(watch: Watch, { status, text, markdown, links }: VisitedPage): Watched {
  switch (watch) {
    case "text":
      return { value: text.trim(), document: lines(markdown ?? text) };
    case "markdown": {
      const document = lines(markdown ?? text);
      return { value: document, document };
    }
    case "status": {
      const document = lines(String(status));
      return { value: document, document };
    }
    case "links": {
      const document = lines([...new Set((links ?? []).map(({ url }) => url))].toSorted().join("\n"));
      return { value: document, document };
    }
  }
}
