/** In the compiled executable this module is part of the first entry, beside which the other stands. */
export const apiThreadUrl = new URL('./api-thread.ts', import.meta.url);
