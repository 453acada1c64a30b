/** Opens all sources of the list, and ends the start where one does not fit its entry. */
import { isScheme } from "../schemes/identifier.ts";
import type { OpenSource, Source, SourceSettings } from "../source.ts";
import { SOURCE_NAMES, type SourceName, SOURCES } from "./sources.ts";

/** Throws Error, which names the source, where its entry and its description do not fit together. */
export const openSources = (settingsOf: (name: SourceName) => SourceSettings): Promise<readonly Source[]> =>
  Promise.all(
    SOURCE_NAMES.map(async (name) => {
      const open: OpenSource = await SOURCES[name].load();
      const source = open(settingsOf(name));
      assertFits(name, source);
      return source;
    }),
  );

export function assertFits(name: string, { description }: Pick<Source, "description">): void {
  const problem = (what: string): Error =>
    new Error(`Cannot start with the company source "${name}": ${what}`);
  if (description.name !== name) throw problem(`its description names it "${description.name}"`);
  const unknown = description.schemes.lookup.find((scheme) => !isScheme(scheme));
  if (unknown !== undefined) throw problem(`it looks up "${unknown}", which is no identifier scheme`);
}
