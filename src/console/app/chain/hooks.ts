/** The health of chainhooks in words. */
import type { Answer } from '../api/api.ts';
import { count, plural, type Tone, until, visible } from './format.ts';

export type Hook = Answer<'/chainhooks/me'>['results'][number];

interface Health {
  tone: Tone;
  word: string;
  /** A problem for the operator; null if there is none. */
  note: string | null;
}

const SECRET_UNREADABLE = 'The server can’t read the signing secret. Deliveries wait until it is rotated or deleted.';
const LOG_RESTORED =
  'The log was restored to an earlier point. No block is evaluated and nothing is sent until you enable or disable it.';

const health = (tone: Tone, word: string, note: string | null = null): Health => ({ tone, word, note });

/** Returns the health of a chainhook. An enabled, streaming hook is healthy unless its deliveries fail or wait. */
export function healthOf({ status }: Hook): Health {
  if (status.paused_reason === 'log_restored') return health('wait', 'Paused', LOG_RESTORED);
  if (status.status === 'interrupted') return health('bad', 'Interrupted', status.interrupted_reason);
  if (status.status === 'expired') return health('plain', 'Expired', 'It reached its maximum number of blocks.');
  if (status.paused_reason === 'secret_unreadable') return health('bad', 'Secret unreadable', SECRET_UNREADABLE);
  if (!status.enabled) return health('plain', 'Disabled');
  const { consecutive_failures: attempts } = status;
  if (attempts > 0) {
    const failures = attempts === 1 ? 'One attempt failed' : `${count(attempts)} attempts in a row failed`;
    const waiting = status.pending_deliveries > 0 ? '' : ', and no delivery waits now';
    return health('bad', 'Failing', `${failures}${waiting}.`);
  }
  if (status.failing_delivery !== null)
    return health('bad', 'Failing', 'A delivery failed, and others succeeded since.');
  if (status.lag_blocks <= 0) return health('ok', 'Healthy');
  return health('wait', 'Catching up', `${plural(status.lag_blocks, 'block')} behind the tip.`);
}

/**
 * Returns the number of blocks since a chainhook was disabled or expired, which it leaves out unless it catches up; 0 for a
 * chainhook that is enabled, or that continues where it stopped anyway.
 */
export function missedBlocksOf({ status }: Hook): number {
  const continues = status.enabled || status.status === 'interrupted' || status.paused_reason === 'log_restored';
  return continues ? 0 : status.lag_blocks;
}

/** Describes why a chainhook fails and when the next attempt is; null if it doesn't fail. @param now Unix seconds */
export function failureLine(hook: Hook, now: number): string | null {
  const { last_error: error, next_attempt_at: next } = hook.status;
  const { tone, note } = healthOf(hook);
  const reason = error ?? note;
  if (tone !== 'bad' || reason === null) return null;
  return visible(next === null ? reason : `${reason}; next attempt ${until(next - now)}`);
}

/** Describes the deliveries behind the failing one: `12 more deliveries wait behind it`; null if there are none. */
export function waitingDeliveriesText({ status }: Hook): string | null {
  const others = status.pending_deliveries - 1;
  if (others <= 0) return null;
  return others === 1 ? '1 more delivery waits behind it' : `${count(others)} more deliveries wait behind it`;
}
