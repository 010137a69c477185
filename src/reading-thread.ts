/** The entry module of a thread that reads ahead. The file is next to main.ts so that the compiled executable finds it by the same name. */
import { runReadingThread } from './commands/data/reading-thread.ts';

await runReadingThread();
