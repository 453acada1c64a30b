/** Projects of a scenario, each made with a key of its own. */
import type { Service } from "./service.ts";

/** Fills `keys`, by project; `words` are further ones of `trawl key create`. */
export async function createKeys<Project extends string>(
  { trawl }: Pick<Service, "trawl">,
  keys: Record<Project, string>,
  ...words: readonly string[]
): Promise<void> {
  for (const project of Object.keys(keys) as Project[]) {
    await trawl("project", "create", project);
    keys[project] = (await trawl("key", "create", "--project", project, ...words)).key;
  }
}
