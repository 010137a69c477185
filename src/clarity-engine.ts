/** The process of the Clarity engine: devnet/clarity/engine-process.ts, next to the program's other entry modules. */
import './devnet/clarity/engine-process.ts';
