/** The views of the console as an operator sees them: the fragment of its address. */
export const CONSOLE_VIEWS = [
  "try",
  "jobs",
  "usage",
  "alerts",
  "keys",
  "sessions",
  "monitors",
  "invoices",
  "nodes",
  "domains",
  "letters",
  "notices",
  "sources",
  "operations",
] as const;
