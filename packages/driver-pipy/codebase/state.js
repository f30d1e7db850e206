// What the sidecar does now. The one object of this codebase that changes: applying a configuration replaces `runtime` by another, whole one.

export var state = {
  /** See runtime.js. Null before the first configuration. */
  runtime: null,
  /** The workload is about to end. */
  isDraining: false,
  /** It has ended: the sidecar follows when nothing is under way. */
  isEnding: false,
  /** Requests and connections that have begun and not ended, those of probes and scrapers left out. */
  underWay: 0,
  /** Connections that withdrawn access ends: `{ isAllowed(), close() }` by number. */
  open: {},
  opened: 0,
}

/** Remembers an open connection until the returned function is called. */
export function track(connection) {
  state.opened = state.opened + 1
  var number = '' + state.opened
  state.open[number] = connection
  return () => delete state.open[number]
}

/** How many connections are remembered. */
export function trackedConnections() {
  return Object.keys(state.open).length
}

/** Ends the connections that nothing allows any more. */
export function endWithdrawn() {
  Object.entries(state.open).forEach((entry) => {
    if (!entry[1].isAllowed()) {
      delete state.open[entry[0]]
      entry[1].close()
    }
  })
}
