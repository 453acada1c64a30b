/**
 * Random numbers for the runtime and the actors, so that a run can be repeated from its seed. Not for keys or secrets.
 */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}
