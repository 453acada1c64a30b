/**
 * The parts of undici that this program uses, by their files: the package's entry loads fetch, caches, mocks and WebSockets
 * as well, 5 MB in each process.
 */
import { createRequire } from "node:module";
import type { Dispatcher } from "undici";

type Undici = typeof import("undici");
type RequestOptions = Parameters<Dispatcher["request"]>[0];

const part = createRequire(import.meta.url);

export type Client = InstanceType<Undici["Client"]>;
export const Client = part("undici/lib/dispatcher/client.js") as Undici["Client"];
export const Agent = part("undici/lib/dispatcher/agent.js") as Undici["Agent"];

interface UndiciErrors {
  readonly ClientDestroyedError: new () => Error;
}
/** The error of requests of a destroyed client. */
export const { ClientDestroyedError } = part("undici/lib/core/errors.js") as UndiciErrors;

const asMethod = part("undici/lib/api/api-request.js") as (
  this: Dispatcher,
  options: RequestOptions,
) => Promise<Dispatcher.ResponseData>;

/** The method `request`, which the package's entry adds to dispatchers. */
export const requestOver = (
  dispatcher: Dispatcher,
  options: RequestOptions,
): Promise<Dispatcher.ResponseData> => asMethod.call(dispatcher, options);
