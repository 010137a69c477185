/** The beginning of the names of the shared log's tables. It stands apart from them, since settings need no PostgreSQL client. */

/** What a prefix may be, so that the names are valid without quotes and short enough. */
export const PREFIX = /^(?:[a-z_][a-z0-9_]{0,30})?$/;
