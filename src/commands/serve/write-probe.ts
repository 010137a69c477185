/**
 * Finds out that writes succeed again where no event comes that would show it. By a timer and not when `/ready` is asked:
 * what the journal is ahead of the index, and deliveries of chainhooks, wait for it whether somebody asks or not.
 */
import { type Every, systemClock } from '../../base/clock.ts';

/** Milliseconds. */
const EVERY_MS = 2_000;

/** Starts the probe. @param probe costs nothing while writes succeed @returns a function that ends it */
export const probeWrites = ({ probe }: { probe: () => void }, every: Every = systemClock.every): (() => void) =>
  every(EVERY_MS, probe);
