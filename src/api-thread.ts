/**
 * The entry module of an API thread. The file is next to main.ts so that the compiled executable finds it by the same
 * name.
 */
import { runApiThread } from './commands/serve/api-thread.ts';

await runApiThread();
