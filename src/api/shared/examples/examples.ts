/**
 * What the document shows of the simulated chain. The files of values and of answers beside this one are written by
 * `bun test/support/generate/examples.ts`.
 */
import values from './values.json' with { type: 'json' };

/** A value of the simulated chain, as the `examples` of a parameter's schema. */
export const example = (name: keyof typeof values): [string | number] => [values[name]];
