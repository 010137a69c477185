import type { StackingTopic } from './stacking.ts';
import * as topics from './stacking-topics.ts';

/** What the node prints of pox-2. */
export const pox2: readonly StackingTopic[] = [
  topics.handleUnlock,
  topics.stackStx,
  topics.stackIncrease,
  topics.stackExtend,
  topics.delegateStx,
  topics.delegateStackStx,
  topics.delegateStackIncrease,
  topics.delegateStackExtend,
  topics.stackAggregationCommit,
  topics.stackAggregationCommitIndexed,
  topics.stackAggregationIncrease,
];
