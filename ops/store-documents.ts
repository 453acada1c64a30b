/** Documents about the stores themselves, each under a name of its own. */
import { collection } from "../cluster/collection.ts";

export const STORES = collection<object>("stores");
