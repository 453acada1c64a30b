/** A bug that is put into the program to see that a test finds it. */
export interface Mutant {
  /** The fault, as a sentence of what the program then does. */
  readonly name: string;
  readonly file: string;
  /** Stands once in the file; where it does not, the run fails. */
  readonly find: string;
  readonly replace: string;
  /** Files or folders of tests of which one must fail. */
  readonly tests: readonly string[];
}
