/** The bodies of the API's answers. */
import type { paths } from './openapi.d.ts';

type Method = 'get' | 'post';

/** What the API answers to an operation with 200. */
export type Answer<Path extends keyof paths, M extends Method = 'get'> = paths[Path] extends {
  [method in M]: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
