/** Changes a payload's JSON in one place, and keeps numbers that a double can't represent. */

import { exactJson as jsonOf } from '../../../src/base/json.ts';
import { parseJson } from '../../../src/chain/payload-reader.ts';

export { jsonOf };

/** Returns the text after `change` has edited its value, which must be a T. */
export function changed<T>(text: string, change: (value: T) => void): string {
  const value = parseJson(text);
  change(value as T);
  return jsonOf(value);
}
