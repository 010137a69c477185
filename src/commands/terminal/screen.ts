/** A terminal with permanent lines and, below them, a status line that is redrawn. */

/** Where a screen is drawn, such as `process.stderr`. */
export interface Output {
  isTTY?: boolean;
  /** Width of the terminal; 0 if unknown, as for some containers and serial lines. */
  columns?: number;
  write(text: string): unknown;
}

/** What a terminal can do. */
export interface Abilities {
  /** Whether a line can be redrawn. */
  inPlace: boolean;
  colors: boolean;
}

/** The terminal's abilities by the process's variables (`TERM`, `NO_COLOR`). */
export function abilitiesOf(output: Output, environment: NodeJS.ProcessEnv): Abilities {
  const inPlace = output.isTTY === true && environment.TERM !== 'dumb';
  return { inPlace, colors: inPlace && (environment.NO_COLOR ?? '') === '' };
}

export interface Screen {
  /** Prints permanent lines. */
  print(text: string): void;
  /**
   * Replaces the status line. On terminals that can't redraw, a status is printed if its kind differs from that of the one
   * before.
   */
  status(kind: string, text: string): void;
  /** Ends the status line. Later statuses are not shown, but printed lines are. */
  end(): void;
}

const ERASE = '\r\u001b[K';
const USUAL_COLUMNS = 80;

/** Cuts a text to a width, since a wrapped line can't be redrawn. */
function fitted(text: string, columns: number): string {
  const most = Math.max(1, columns - 1);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Opens a screen without a status. @param inPlace whether a line can be redrawn */
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
