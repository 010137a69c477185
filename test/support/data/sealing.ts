/** The key for signing secrets, for tests without a key file. */
import { sealingWith } from '../../../src/hooks/delivery/sealing.ts';

export const sealing = sealingWith('a text of more than 32 characters, for tests');
