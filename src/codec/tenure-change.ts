/**
 * Causes of tenure changes, by wire number: a new Bitcoin block, or an extended budget (SIP-034 for one budget of
 * five).
 */
export const tenureChangeCauses = [
  'block_found',
  'extended',
  'extended_runtime',
  'extended_read_count',
  'extended_read_length',
  'extended_write_count',
  'extended_write_length',
] as const;
export type TenureChangeCause = (typeof tenureChangeCauses)[number];
