/** Chance as the cluster sees it, so that a run can be repeated from its seed. Never for keys or secrets. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}
