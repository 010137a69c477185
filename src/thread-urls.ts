/** The URLs of the modules that threads run. They are next to main.ts, because the compiled executable keeps all entry modules side by side. */

export const apiThreadUrl = new URL('./api-thread.ts', import.meta.url);

/** The module of a thread that reads recordings and journals ahead of the writer. */
export const readingThreadUrl = new URL('./reading-thread.ts', import.meta.url);

export const archiveThreadUrl = new URL('./archive-thread.ts', import.meta.url);

export const checkpointThreadUrl = new URL('./checkpoint-thread.ts', import.meta.url);

export const queryThreadUrl = new URL('./query-thread.ts', import.meta.url);

/** The module that the process of the Clarity engine runs. */
export const clarityEngineUrl = new URL('./clarity-engine.ts', import.meta.url);
