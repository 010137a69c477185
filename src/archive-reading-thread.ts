/** The entry module of a thread that reads an archive. The file is next to main.ts so that the compiled executable finds it by the same name. */
import { runArchiveReadingThread } from './commands/data/archive-reading-thread.ts';

runArchiveReadingThread();
