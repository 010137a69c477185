/** The bodies of the API's answers. */
import type { paths } from './openapi.d.ts';

/** What the API answers to an operation with 200. */
export type Answer<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
