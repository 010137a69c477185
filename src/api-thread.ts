/** Where a thread of the API begins. It stands beside main.ts so that the compiled executable finds it by the same name. */
import { runApiThread } from './commands/api-thread.ts';

await runApiThread();
