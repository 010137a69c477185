/** The bounds of Clarity's integers, which have 128 bits. */
export const MAX_UINT = 2n ** 128n - 1n;
export const MAX_INT = 2n ** 127n - 1n;
export const MIN_INT = -(2n ** 127n);
