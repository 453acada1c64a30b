import { expect, test } from "vitest";
import { workFields } from "../../../actors/lib/work-fields.ts";

const REQUEST = "req_01M83NJBSCQ50HB8MJY3MGC7VF";
const JOB = "01a1fed4-907e-7b74-91d6-4c82af9314ba";

test.each([
  [REQUEST, { request_id: REQUEST }],
  [`${REQUEST}.anew`, { request_id: REQUEST }],
  [`${REQUEST}r`, { request_id: REQUEST }],
  [`${JOB}:17.2c`, { job_id: JOB, index: 17 }],
  [`${JOB}:0.0~a1.3`, { job_id: JOB, index: 0 }],
  ["canary gleif 3", { work_id: "canary gleif 3" }],
])("the work %j is for %j", (id, fields) => {
  expect(workFields(id)).toEqual(fields);
});
