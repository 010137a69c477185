/** How a chainhook does, in a word and a sentence. */
import type { Answer } from '../api/answer.ts';
import { plural } from './format.ts';

export type Hook = Answer<'/chainhooks/me'>['results'][number];

export interface Health {
  tone: 'ok' | 'bad' | 'wait' | 'plain';
  word: string;
  /** What an operator is to know; null where all is well. */
  note: string | null;
}

const SECRET_UNREADABLE: Health = {
  tone: 'bad',
  word: 'Secret unreadable',
  note: 'The server can’t read the signing secret. Deliveries wait until it is rotated or deleted.',
};

/** The health of a chainhook. An enabled hook that streams is well unless its deliveries fail or wait. */
export function healthOf({ status }: Hook): Health {
  if (status.status === 'interrupted') {
    return { tone: 'bad', word: 'Interrupted', note: status.interrupted_reason };
  }
  if (status.status === 'expired') return { tone: 'plain', word: 'Expired', note: 'It reached its limit of blocks.' };
  if (status.paused_reason === 'secret_unreadable') return SECRET_UNREADABLE;
  if (!status.enabled) return { tone: 'plain', word: 'Paused', note: null };
  if (status.consecutive_failures > 0) {
    const failures = plural(status.consecutive_failures, 'failed attempt');
    return { tone: 'bad', word: 'Failing', note: `${failures} in a row; it is tried again.` };
  }
  if (status.lag_blocks > 0) {
    return { tone: 'wait', word: 'Catching up', note: `${plural(status.lag_blocks, 'block')} behind the tip.` };
  }
  return { tone: 'ok', word: 'Healthy', note: null };
}

/** Tones of the states of deliveries. */
export const STATE_TONES: Readonly<Record<string, Health['tone']>> = {
  delivered: 'ok',
  dead: 'bad',
  failed: 'bad',
  pending: 'wait',
  in_flight: 'wait',
  cancelled: 'plain',
};
