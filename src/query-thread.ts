/** The entry module of a query's thread. The file is next to main.ts so that the compiled executable finds it by the same name. */
import { runQueryThread } from './commands/query/thread.ts';

await runQueryThread();
