// What callers send to the small servers of a sidecar: those of probes, metrics and administration.

import { beginHTTP } from './http1.js'
import { onceEnded, requestsOf } from './http1-intake.js'

var $conn

/** Stands ahead of a `demuxHTTP`, which gets to see only what is HTTP. */
export var strictRequests = pipeline(($) =>
  $.onStart(() => {
    $conn = {}
    beginHTTP($conn)
  })
    .replaceData((data) => requestsOf($conn, data))
    .replaceStreamEnd((end) => onceEnded($conn, end)),
)
