import type { Network } from '../../chain/network.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { ChainHistory } from '../../store/ingest/ingest.ts';
import type { Evaluator } from '../evaluation/evaluator.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** What the commands of chainhooks work with. */
export interface CommandParts {
  store: HookStore;
  history: ChainHistory;
  /** Null until a block came. */
  network: () => Network | null;
  evaluator: Evaluator;
  lifecycle: Lifecycle;
}
