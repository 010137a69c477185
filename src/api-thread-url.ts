/** The URL of the module that API threads run. The compiled executable keeps both entry modules side by side. */
export const apiThreadUrl = new URL('./api-thread.ts', import.meta.url);
