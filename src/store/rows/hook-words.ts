/** Words of chainhooks that the index keeps as numbers. */
import { storedWords } from './stored-words.ts';

export const hookStatuses = ['new', 'streaming', 'expired', 'interrupted'] as const;
export type HookStatus = (typeof hookStatuses)[number];
export const storedStatus = storedWords('hooks', 'status', hookStatuses);
/** `idle`: no block is evaluated; `live`: evaluated with each block; `catching_up`: from its own cursor to the tip. */
export const stages = ['idle', 'live', 'catching_up'] as const;
export type Stage = (typeof stages)[number];
export const storedStage = storedWords('hooks', 'stage', stages);
/** Deliveries of one lane of a hook go one after the other, in the order they were made. */
export const lanes = ['live', 'evaluate', 'backfill', 'redelivery'] as const;
export type Lane = (typeof lanes)[number];
export const storedLane = storedWords('hook_deliveries', 'lane', lanes);
export const reasons = ['live', 'catch_up', 'evaluate', 'backfill', 'redelivery'] as const;
export type Reason = (typeof reasons)[number];
export const storedReason = storedWords('hook_deliveries', 'reason', reasons);
export const deliveryStates = ['pending', 'failed', 'delivered', 'dead', 'cancelled'] as const;
/** `failed` is to be tried again, `dead` not by itself. */
export type DeliveryState = (typeof deliveryStates)[number];
export const storedState = storedWords('hook_deliveries', 'state', deliveryStates);
export const backfillStates = ['queued', 'running', 'completed', 'cancelled', 'failed'] as const;
export type BackfillState = (typeof backfillStates)[number];
export const storedBackfillState = storedWords('hook_backfills', 'state', backfillStates);
/**
 * Where the rows of chainhooks come from: from what was asked of this host; from commands among the journal's entries; or
 * first from these and then, since the host left its cluster, from what was asked of this host.
 */
