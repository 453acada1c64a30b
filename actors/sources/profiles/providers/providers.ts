/** The profile sites that can be read. A new one is one file here and one line. */
import type { Provider } from "../provider.ts";
import { northdata } from "./northdata.ts";

/** The first is the one that the service asks. */
export const PROVIDERS: readonly [Provider, ...Provider[]] = [northdata];
