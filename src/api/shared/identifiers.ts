/** Patterns of identifiers, and the rules in words. The console's browser code also uses them. */
import { ADDRESS_PATTERN, ASSET_NAME_PATTERN, CONTRACT_NAME_PATTERN } from '../../codec/address.ts';

/** Patterns of identifiers in the paths and queries of all routes. */
export const PATTERNS = {
  address: `^${ADDRESS_PATTERN}$`,
  principal: `^${ADDRESS_PATTERN}(\\.${CONTRACT_NAME_PATTERN})?$`,
  contract: `^${ADDRESS_PATTERN}\\.${CONTRACT_NAME_PATTERN}$`,
  asset: `^${ADDRESS_PATTERN}\\.${CONTRACT_NAME_PATTERN}::${ASSET_NAME_PATTERN}$`,
} as const;

const EXAMPLE_ADDRESS = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';

/** Rules of parameters in words. Errors show them instead of patterns. */
export const RULES = {
  address: `a Stacks address, such as ${EXAMPLE_ADDRESS}`,
  principal: `a Stacks address, such as ${EXAMPLE_ADDRESS}, or a contract identifier, such as ${EXAMPLE_ADDRESS}.pool`,
  contract: `a contract identifier: a Stacks address, a dot and a name, such as ${EXAMPLE_ADDRESS}.pool`,
  asset: `an asset identifier: a contract identifier, two colons and the name of a token, such as ${EXAMPLE_ADDRESS}.pool::coin`,
  txId: 'a transaction id: 64 hexadecimal digits, with or without 0x before them',
  hash: 'a hash: 64 hexadecimal digits, with or without 0x before them',
  clarityValue: 'the hexadecimal digits of a serialized Clarity value, with or without 0x before them',
  block: 'a height, a hash of 64 hexadecimal digits, or latest',
} as const;
