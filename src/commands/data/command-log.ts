/** The log of a command that writes a data directory. */
import { createLog, type Level, type Log } from '../../log.ts';

/** Creates the log. Failed writes aren't logged: the error that ends the command explains them. */
export function commandLog(level: Level): Log {
  const log = createLog(level);
  return (event) => {
    if (event.event !== 'service_failing' || event.service !== 'writes') log(event);
  };
}
