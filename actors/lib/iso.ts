/** A moment as answers and records have it: ISO 8601, UTC, in milliseconds. */
export const iso = (at_ms: number): string => new Date(at_ms).toISOString();
