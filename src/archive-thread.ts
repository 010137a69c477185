/** The entry module of the thread that archives. The file is next to main.ts so that the compiled executable finds it by the same name. */
import { runArchiveThread } from './commands/serve/archive-thread.ts';

runArchiveThread();
