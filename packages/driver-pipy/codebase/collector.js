// Sends records to a collector by HTTP, many at a time. What a collector is too slow for, or does not take, is lost and counted: nothing waits for it.

/** What a collector that is away keeps in memory, at most. */
export var MOST_RECORDS = 1000
/** Records of one request. */
export var BATCH_RECORDS = 200
var FLUSH_SECONDS = 1
var ANSWER_SECONDS = 5

/**
 * A queue towards a collector.
 *
 * @param send - sends a list of records; gives a promise for whether they were taken
 * @param wait - gives a promise for the end of so many seconds
 * @param counts - `{ sent, dropped, batches, failures }`: records that were taken and that are lost, lists of them, and those that came to nothing
 * @param tries - how often a list is sent before its records are lost; once if absent
 */
export function makeQueue(send, wait, counts, tries) {
  return { send, wait, counts, tries: tries || 1, records: [], isBusy: false }
}

/** Has a record sent, soon. */
export function enqueue(queue, record) {
  if (queue.records.length >= MOST_RECORDS) {
    queue.counts.dropped = queue.counts.dropped + 1
    return
  }
  queue.records.push(record)
  if (!queue.isBusy) {
    queue.isBusy = true
    queue.wait(FLUSH_SECONDS).then(() => flush(queue))
  }
}

/**
 * Sends lists as JSON to a path of a host.
 *
 * @param settings - `{ address, path, headers }`: `host:port`, the path with its query, and what gives headers besides that of the content
 */
export function postJSON(settings) {
  var headersOf = settings.headers || (() => undefined)
  var agent = new http.Agent(settings.address, {
    connectTimeout: ANSWER_SECONDS,
    readTimeout: ANSWER_SECONDS,
    maxIdle: FLUSH_SECONDS,
  })
  return (records) =>
    agent
      .request(
        'POST',
        settings.path,
        Object.assign({ 'content-type': 'application/json' }, headersOf()),
        JSON.stringify(records),
      )
      .then((answer) => answer.head.status >= 200 && answer.head.status < 300)
}

// One request at a time: a collector that is slow gets no more of them for it.
function flush(queue) {
  var batch = queue.records.slice(0, BATCH_RECORDS)
  queue.records = queue.records.slice(BATCH_RECORDS)
  queue.counts.batches = queue.counts.batches + 1
  attempt(queue, batch, queue.tries, FLUSH_SECONDS).then((isTaken) => {
    var counts = queue.counts
    if (isTaken) {
      counts.sent = counts.sent + batch.length
    } else {
      counts.failures = counts.failures + 1
      counts.dropped = counts.dropped + batch.length
    }
    if (queue.records.length >= BATCH_RECORDS) return flush(queue)
    if (queue.records.length > 0) return void queue.wait(FLUSH_SECONDS).then(() => flush(queue))
    queue.isBusy = false
  })
}

// Tries as often as it may, at times further and further apart.
function attempt(queue, batch, left, seconds) {
  return sendOnce(queue, batch).then((isTaken) =>
    isTaken || left <= 1 ? isTaken : queue.wait(seconds).then(() => attempt(queue, batch, left - 1, seconds * 2)),
  )
}

function sendOnce(queue, batch) {
  try {
    return queue.send(batch).catch(() => false)
  } catch (error) {
    return new Promise((resolve) => resolve(false))
  }
}
