/** Reads events of the stacking contracts by the tables of their topics. */
import type { ChainEvent } from '../block.ts';
import { UnreadablePrint } from './fields.ts';
import { pox2 } from './pox-2.ts';
import { pox3 } from './pox-3.ts';
import { pox4 } from './pox-4.ts';
import { pox5 } from './pox-5.ts';
import { poxPrint, printingPox } from './print.ts';
import type { StackingPrint, StackingTopic } from './stacking.ts';
import type { StakingChange, StakingTopic } from './staking.ts';

/**
 * The meaning of a print. `unread` is a print whose topic or fields are unknown, which remains a plain contract log.
 */
export type PoxReading =
  | { kind: 'stacking'; print: StackingPrint }
  | { kind: 'staking'; changes: StakingChange[] }
  | { kind: 'unread'; contract: string; topic: string | null; reason: string };

export const POX_VERSIONS: Readonly<Record<string, number>> = {
  pox: 1,
  'pox-2': 2,
  'pox-3': 3,
  'pox-4': 4,
  'pox-5': 5,
};

const byName = <T extends { name: string }>(topics: readonly T[]): ReadonlyMap<string, T> =>
  new Map(topics.map((topic) => [topic.name, topic]));

const stackingTopics: Readonly<Record<string, ReadonlyMap<string, StackingTopic>>> = {
  'pox-2': byName(pox2),
  'pox-3': byName(pox3),
  'pox-4': byName(pox4),
};
const stakingTopics: ReadonlyMap<string, StakingTopic> = byName(pox5);

/** Reads an event of a stacking contract. @returns null for other events, and for prints without a meaning */
export function poxReading(event: ChainEvent): PoxReading | null {
  const printing = printingPox(event);
  if (printing === null) return null;
  const { contractName } = printing;
  const print = poxPrint(event);
  const unread = (reason: string): PoxReading => ({
    kind: 'unread',
    contract: contractName,
    topic: print?.name ?? null,
    reason,
  });
  if (print === null) return isRefusal(event) ? null : unread('It has no form that is known');
  try {
    if (contractName === 'pox-5') {
      const topic = stakingTopics.get(print.name);
      return topic === undefined
        ? unread('The topic is not known')
        : { kind: 'staking', changes: topic.read(print.fields) };
    }
    const topic = stackingTopics[contractName]?.get(print.name);
    if (topic === undefined) return unread('The topic is not known');
    const read = topic.read(print, POX_VERSIONS[contractName] ?? 0);
    return read === null ? null : { kind: 'stacking', print: read };
  } catch (error) {
    if (!(error instanceof UnreadablePrint)) throw error;
    return unread(error.message);
  }
}

/** `(err …)`: a call that did nothing. */
const ERR_PREFIX = 8;
const isRefusal = (event: ChainEvent): boolean => event.kind === 'contract_log' && event.value[0] === ERR_PREFIX;
