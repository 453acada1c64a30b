/** Documents of the cluster itself, each under a name of its own: `main`, `starts`, and the settings of all nodes. */
import { collection } from "./collection.ts";

export const CLUSTER = collection<object>("cluster");
