// Connections that no one serves.

/** Ends a connection. What has come over it is dropped: Pipy would send back whatever follows the first event. */
export var closed = pipeline(($) => $.replaceStreamStart(() => new StreamEnd()).replaceData())
