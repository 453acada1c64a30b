/** The capture of a page in an imported archive, for the route that gives it. */
import type { Redirect } from "../../../schemas/fetch.ts";

interface FoundCapture {
  /** The address of the capture: not of another page that it leads to by a redirect of the archive. */
  readonly url: string;
  readonly redirects: readonly Redirect[];
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly bytes: number;
  /** ISO 8601. */
  readonly captured_at: string;
  /** The name of the file that it came from. */
  readonly source: string;
  /** It serves every project. */
  readonly is_shared: boolean;
}

export type FindImported = (
  project: string,
  url: string,
  max_bytes: number,
) => Promise<FoundCapture | "too_large" | null>;
