/** The URL of the module that a query's thread runs. The compiled executable keeps all entry modules side by side. */
export const queryThreadUrl = new URL('./query-thread.ts', import.meta.url);
