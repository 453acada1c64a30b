/** The request, or the item of a job, that a piece of work is for, as fields of its log lines. */

/**
 * `id` is that of the work and begins with what it is for: `req_…` of a request, `<job id>:<index>` of an item; what follows
 * (a try, a copy, robots.txt) is left out. Without an id there are no fields: the work is the service's own, or was asked for
 * by a node of an earlier version.
 */
export function workFields(
  id: string | undefined,
):
  | { readonly request_id: string }
  | { readonly job_id: string; readonly index: number }
  | { readonly work_id: string }
  | Record<string, never> {
  if (id === undefined) return {};
  const [request_id] = /^req_[0-9A-Z]{26}/.exec(id) ?? [];
  if (request_id !== undefined) return { request_id };
  const [, job_id, index] = /^([0-9a-f-]{36}):(\d+)/.exec(id) ?? [];
  return job_id === undefined ? { work_id: id } : { job_id, index: Number(index) };
}
