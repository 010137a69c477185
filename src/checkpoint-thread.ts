/** The entry module of the thread that checkpoints. The file is next to main.ts so that the compiled executable finds it by the same name. */
import { runCheckpointThread } from './commands/serve/checkpoint-thread.ts';

runCheckpointThread();
