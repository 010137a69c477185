/** The key for signing secrets, for tests without a key file. */
import { makeSealing } from '../../../src/hooks/delivery/sealing.ts';

export const sealing = makeSealing('a text of more than 32 characters, for tests');
