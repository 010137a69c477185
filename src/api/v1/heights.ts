/** Parameters of v1 that choose a block, or the last block that an answer covers. */
import { Type } from '@sinclair/typebox';
import { ApiError, requireFound } from '../../http/errors.ts';
import type { Heights } from '../../store/model/block.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { blockText, type HeightOrHash, heightOrHash, TIP, textParameter } from '../shared/parameters.ts';

/** A block by height or block hash; null for an empty text, which names none. */
type Until = HeightOrHash | null;

export const untilQuery = {
  unanchored: Type.Boolean({
    default: false,
    description:
      'Once included unconfirmed microblocks (Stacks 2.x) and has no effect since; not allowed with `until_block`',
  }),
  until_block: Type.Optional(
    textParameter(
      (text): Until => (text === '' ? null : heightOrHash(text)),
      (until) => (until === null ? '' : blockText(until)),
      {
        pattern: '^((0x)?[a-fA-F0-9]{64}|0*[1-9][0-9]*)?$',
        rule: 'a height above 0, or a hash of 64 hexadecimal digits',
        maxLength: 66,
        description:
          'Height or hash of the last block that counts (default: the tip). A value of 64 digits is a hash. A height above the tip counts as the tip; to get 503 instead, send `stackside-min-height`',
        examples: example('block_height').map(String),
      },
    ),
  ),
};

export const heightQuery = {
  height: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Height of the only block to return; 0 for all blocks',
      examples: example('block_height'),
    }),
  ),
  ...untilQuery,
};

interface Query {
  height?: number;
  unanchored: boolean;
  until_block?: Until;
}

/** Description of the 404 of routes with `until_block`. */
export const NO_BLOCK = 'Block not found: no block has the hash in `until_block`';

/**
 * Returns the height of the last block that an answer covers, which may be an orphan.
 * @throws ApiError for parameters that exclude each other, and for an unknown hash
 */
export function untilHeight(read: Reader, { unanchored, until_block: until = null }: Query): number {
  if (until === null) return TIP;
  if (unanchored) {
    const message = "can't handle both 'unanchored=true' and 'until_block' in the same request";
    throw new ApiError(400, message, 'VALIDATION');
  }
  if ('height' in until) return until.height;
  const block = requireFound(read.blocks.find(until) ?? read.blocks.whole(until), 'block not found with hash');
  return block.height;
}

/** Returns the heights that a list covers. @throws as {@link untilHeight} */
export function parseHeights(read: Reader, query: Query): Heights {
  const { height = 0, until_block: until = null } = query;
  if (height === 0) return { first: 0, last: untilHeight(read, query) };
  if (until === null) return { first: height, last: height };
  throw new ApiError(400, "can't handle both 'until_block' and 'height' in the same request", 'VALIDATION');
}
