/** Requests that change something, with what came of them. */
import { useState } from 'preact/hooks';
import { RequestError } from '../api/api.ts';
import { announce } from './announce.tsx';

export interface Action {
  /** Whether a request is under way. */
  busy: boolean;
  /** Why the last one failed; null where it didn't. */
  problem: string | null;
  /** Runs a request, and says what it did once it is done. */
  run(work: () => Promise<unknown>, done: string): void;
}

/** The state of the requests of a component. @param after is called when one has succeeded */
export function useAction(after: () => void = () => {}): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  return {
    busy,
    problem,
    run(work, done) {
      setBusy(true);
      setProblem(null);
      work()
        .then(
          () => {
            announce(done);
            after();
          },
          (error: unknown) => {
            if (!(error instanceof RequestError)) throw error;
            setProblem(error.message);
          },
        )
        .finally(() => setBusy(false));
    },
  };
}
