/** Ends a start or a command with a sentence for the operator: the keys of stored secrets are not there, or not right. */
export class SecretsError extends Error {
  override readonly name = "SecretsError";
}
