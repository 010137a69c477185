/** The part of a node's configuration that makes it post its events to Stackside. */

/** @param endpoint host and port of the event receiver as the node reaches it */
export const observerToml = (endpoint: string): string => `[[events_observer]]
endpoint = "${endpoint}"
events_keys = ["*"]
timeout_ms = 60000
`;
