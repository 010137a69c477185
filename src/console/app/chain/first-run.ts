/** The steps of a new server to its first block. */
import { count } from './format.ts';
import { networkName } from './state.ts';
import type { ServerStatus } from './types.ts';

/** `now` is the step that needs the operator, or waits; only one step is. */
type Progress = 'done' | 'now' | 'later';

export interface FirstStep {
  name: 'Node' | 'Chain' | 'Height' | 'Observer' | 'Events';
  progress: Progress;
  text: string;
}

/** The step that shows each of these states as its problem. */
const STEP_OF: Partial<Record<ServerStatus['state'], FirstStep['name']>> = {
  wrong_chain: 'Chain',
  waiting_for_the_node: 'Node',
};

/**
 * Returns the steps of a server without a block. A server that takes no events of a node, such as one that only reads,
 * has no step for the observer.
 */
export function firstSteps({ state, node, index, events, observer, simulated_node }: ServerStatus): FirstStep[] {
  const hasEvent = events?.last_received_at != null;
  const isRight = state !== 'wrong_chain' && node.chain_id !== null;
  const network = networkName(node.chain_id ?? index.chain_id, simulated_node);
  const isConfigured = hasEvent || (observer === null && state.startsWith('waiting'));
  const facts: [name: FirstStep['name'], isDone: boolean, text: string][] = [
    ['Node', node.height !== null, node.height === null ? 'It doesn’t answer.' : 'It answers.'],
    ['Chain', isRight, network === null ? 'Unknown until the node answers.' : `${network}.`],
    [
      'Height',
      (node.height ?? 0) > 0,
      node.height === null ? 'Unknown.' : `The node is at block ${count(node.height)}.`,
    ],
  ];
  if (events !== null) {
    const text = isConfigured
      ? 'The node’s configuration has the section.'
      : `The node must post to ${events.endpoint}.`;
    facts.push(['Observer', isConfigured, text]);
  }
  facts.push(['Events', hasEvent, hasEvent ? 'Events arrive. The first block is next.' : 'None has arrived yet.']);
  const undone = facts.find(([name, isDone]) => (STEP_OF[state] === undefined ? !isDone : name === STEP_OF[state]));
  return facts.map(([name, isDone, text]) => ({
    ...{ name, text },
    progress: name === undone?.[0] ? 'now' : isDone ? 'done' : 'later',
  }));
}
