/** The cost limit of a tenure's blocks, unless the tenure is extended (SIP-006, as of Stacks 2.05), by dimension. */
export const TENURE_BUDGET = {
  runtime: 5_000_000_000,
  readCount: 15_000,
  readLength: 100_000_000,
  writeCount: 15_000,
  writeLength: 15_000_000,
} as const;
