/** A terminal with lines that stay and, below them, one line that is drawn again. */

/** Where a screen is drawn, such as `process.stderr`. */
export interface Output {
  isTTY?: boolean;
  /** The width of the terminal; 0 where it doesn't tell, as some do in containers and over serial lines. */
  columns?: number;
  write(text: string): unknown;
}

/** What a terminal can do. */
export interface Abilities {
  /** Whether a line can be drawn again. */
  inPlace: boolean;
  colors: boolean;
}

/** What the variables of the process say that a terminal can do (`TERM`, `NO_COLOR`). */
export function abilitiesOf(output: Output, environment: NodeJS.ProcessEnv): Abilities {
  const inPlace = output.isTTY === true && environment.TERM !== 'dumb';
  return { inPlace, colors: inPlace && (environment.NO_COLOR ?? '') === '' };
}

export interface Screen {
  /** Prints lines, which stay. */
  print(text: string): void;
  /**
   * Replaces the last line. Where no line can be drawn again, a status is printed if it is of another kind than the one
   * before.
   */
  status(kind: string, text: string): void;
  /** Leaves the last line as it is. A status that comes later is not shown: lines that are printed still are. */
  end(): void;
}

const ERASE = '\r\u001b[K';
const USUAL_COLUMNS = 80;

/** A text cut to a width: a line that is wrapped can't be drawn again. */
function fitted(text: string, columns: number): string {
  const most = Math.max(1, columns - 1);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Opens a screen without a status. @param inPlace whether a line can be drawn again */
export function openScreen(output: Output, inPlace: boolean): Screen {
  let shown = '';
  let kindShown = '';
  let ended = false;
  const drawn = () => ERASE + fitted(shown, output.columns || USUAL_COLUMNS);
  return {
    print(text) {
      output.write(shown === '' ? `${text}\n` : `${ERASE}${text}\n${drawn()}`);
    },
    status(kind, text) {
      if (ended) return;
      if (inPlace) {
        shown = text;
        output.write(drawn());
      } else if (kind !== kindShown) {
        output.write(`${text}\n`);
      }
      kindShown = kind;
    },
    end() {
      if (shown !== '') output.write('\n');
      shown = '';
      ended = true;
    },
  };
}
