/** Lets one piece of work at a time change what it shares with others, in the order in which they asked. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work once all before it is done, however that ended. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    // Whoever asked for this turn is told of its failure; it is none of whose turn is next.
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
