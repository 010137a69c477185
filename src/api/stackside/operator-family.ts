/** What the routes that only the operator may ask have in common. */
import type { Refusals } from '../../http/openapi.ts';
import type { Access } from '../../http/route.ts';

export interface OperatorFamily {
  tag: string;
  /** Lets the operator pass alone. */
  access: Access<object, undefined>;
  refusals: Refusals;
  etag: null;
  snapshot: false;
  mainThread: true;
}
