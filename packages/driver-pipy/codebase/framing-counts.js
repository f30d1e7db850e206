// Messages of HTTP/1.1 that were refused before anybody read them.

import { addTo } from './upstream-metrics.js'

// By `request` or `answer`, and why.
var refused = {}

/** Counts a message that is refused; the reason is one of those of http1-head.js and http1-body.js. */
export function countRefusedMessage(kind, reason) {
  addTo(refused, '{kind="' + kind + '",reason="' + reason + '"}', 1)
}

/** What was counted, by the text of its labels, in order. */
export function refusedMessages() {
  return Object.keys(refused)
    .sort()
    .map((labels) => [labels, refused[labels]])
}
