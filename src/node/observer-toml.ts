/** The part of a node's configuration that makes it post its events to Stackside. */

/** Returns the observer section. @param endpoint host and port of the event receiver, from the node's point of view */
export const observerToml = (endpoint: string): string => `[[events_observer]]
endpoint = "${endpoint}"
events_keys = ["*"]
timeout_ms = 60000
`;
