/** What should become of the calls that one client makes on one path. */
export interface FlowExpectation {
  /** Name of the workload that calls. */
  readonly client: string
  readonly target: string
  readonly path: string
  /** `allowed`: answered 200. `denied`: the sidecar of the called side answers 403. `unreachable`: no way leads there, so no server ever answers. */
  readonly outcome: 'allowed' | 'denied' | 'unreachable'
}

/** What the policy of examples/bookstore says, written down a second time so that the demo has something to hold the mesh against. */
export const bookstoreFlows: readonly FlowExpectation[] = [
  { client: 'bookbuyer', target: 'bookstore', path: '/buy-a-book/new', outcome: 'allowed' },
  { client: 'bookbuyer', target: 'bookstore', path: '/books-bought', outcome: 'allowed' },
  { client: 'bookthief', target: 'bookstore', path: '/books-bought', outcome: 'allowed' },
  { client: 'bookthief', target: 'bookstore', path: '/buy-a-book/new', outcome: 'denied' },
  { client: 'bookthief', target: 'bookwarehouse', path: '/restock-books', outcome: 'unreachable' },
  { client: 'bookstore-v1', target: 'bookwarehouse', path: '/restock-books', outcome: 'allowed' },
  { client: 'bookstore-v2', target: 'bookwarehouse', path: '/restock-books', outcome: 'allowed' },
  { client: 'tcp-client', target: 'tcp-echo', path: 'tcp:9000', outcome: 'allowed' },
]

/**
 * Requests that the demo adds to those of bookbuyer, by bookbuyer's own sidecar, so that the split differs clearly from chance. Each of them makes a
 * bookstore call the bookwarehouse, so that there is enough to see of that too.
 */
export const splitProbe = {
  workload: 'bookbuyer',
  /** Name under which they are reported. */
  client: 'demo-probe',
  host: 'bookstore.bookstore:14001',
  path: '/buy-a-book/new',
  /** Name of the service in reports. */
  target: 'bookstore',
  requests: 400,
} as const

/** The requests of the demo itself have to succeed too. */
export const probeFlow: FlowExpectation = {
  client: splitProbe.client,
  target: splitProbe.target,
  path: splitProbe.path,
  outcome: 'allowed',
}
