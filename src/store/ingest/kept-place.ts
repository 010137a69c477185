/** The place of the index in its journal, in memory until the index commits: each event moves it. */
import type { Place, Places } from '../files/journal-link.ts';
import type { Participant } from './transactions.ts';

export interface KeptPlace extends Places {
  /** Writes the place if it moved; called before each commit. */
  store(): void;
  participant: Participant;
}

/** @param stored the place as the connection that writes has it */
export function keptPlace(stored: Places): KeptPlace {
  /** Null where it isn't known yet. */
  let place: Place | null = null;
  let isMoved = false;

  const current = (): Place => {
    place ??= stored.current();
    return place;
  };
  const set = ({ id, chain }: Place): void => {
    place = { id, chain };
    isMoved = true;
  };
  return {
    current,
    set,
    store() {
      if (isMoved) stored.set(current());
      isMoved = false;
    },
    participant: {
      undone() {
        place = null;
        isMoved = false;
      },
    },
  };
}
