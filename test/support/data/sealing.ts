/** The key of signing secrets where a test has no file of it. */
import { sealingWith } from '../../../src/hooks/delivery/sealing.ts';

export const sealing = sealingWith('a text of more than 32 characters, for tests');
