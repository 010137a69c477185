/** The bodies of the API's responses. */
import type { paths } from './openapi.d.ts';

type Method = 'get' | 'post';

/** The body of an operation's response with status 200. */
export type Answer<Path extends keyof paths, M extends Method = 'get'> = paths[Path] extends {
  [method in M]: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
