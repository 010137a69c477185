/** When the state of chainhooks is read again. */
import { now } from '../ui/clock.ts';
import { tipVersion } from './live.ts';

/** Seconds after which it is read again: deliveries come and go between blocks, too. */
const EVERY = 3;

/** Changes with each block, and every few seconds. */
export const hookVersion = (): string => `${tipVersion.value} ${Math.floor(now.value / EVERY)}`;
