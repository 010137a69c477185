/** Examples of the OpenAPI document. `bun test/support/generate/examples.ts` writes values.json and answers.json. */
import values from './values.json' with { type: 'json' };

/** A value of the simulated chain, as the `examples` of a parameter's schema. */
export const example = (name: keyof typeof values): [string | number] => [values[name]];
