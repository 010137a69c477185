/** A payload's JSON changed in one place, with the numbers that no double holds as they were. */

import { exactJson as jsonOf } from '../../../src/base/json.ts';
import { parseJson } from '../../../src/chain/payload-reader.ts';

export { jsonOf };

/** The text with `change` made to its value, which the caller knows to be a T. */
export function changed<T>(text: string, change: (value: T) => void): string {
  const value = parseJson(text);
  change(value as T);
  return jsonOf(value);
}
