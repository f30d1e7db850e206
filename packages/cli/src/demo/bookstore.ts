import type { DemoScene, FlowExpectation } from './demo-scene.js'

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

/** The demo of the bookstore. Each request of the probe makes a bookstore call the bookwarehouse, so that there is enough to see of that too. */
export const bookstoreScene: DemoScene = {
  flows: bookstoreFlows,
  probe: {
    workload: 'bookbuyer',
    client: 'demo-probe',
    host: 'bookstore.bookstore:14001',
    path: '/buy-a-book/new',
    target: 'bookstore',
    requests: 400,
  },
}

/** What the policy of examples/bookstore/machines says: the same for all places in which a bookstore runs. */
export const machinesScene: DemoScene = {
  flows: [
    { client: 'bookbuyer', target: 'bookstore', path: '/books-bought', outcome: 'allowed' },
    { client: 'bookthief', target: 'bookstore', path: '/books-bought', outcome: 'denied' },
  ],
  probe: { ...bookstoreScene.probe, path: '/books-bought' },
}
