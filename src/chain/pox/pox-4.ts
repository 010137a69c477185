import type { StackingTopic } from './stacking.ts';
import * as topics from './stacking-topics.ts';

/** What the node prints of pox-4, whose stackers name a signer's key. */
export const pox4: readonly StackingTopic[] = [
  topics.stackStx,
  topics.stackIncrease,
  topics.stackExtend,
  topics.delegateStx,
  topics.revokeDelegateStx,
  topics.delegateStackStx,
  topics.delegateStackIncrease,
  topics.delegateStackExtend,
  topics.stackAggregationCommit,
  topics.stackAggregationCommitIndexed,
  topics.stackAggregationIncrease,
];
