/** What distributed.test.ts promises, in a cluster of more than 64 partitions, whose nodes own them by a table of assignments. */
process.env["PARTITIONS"] = "128";
try {
  await import("./distributed.test.ts");
} finally {
  delete process.env["PARTITIONS"];
}
