// Looks up how many books were bought, and nothing else: for meshes in which the bookstore has no warehouse.
import { repeat } from './lib/client.mjs'
import { send } from './lib/http.mjs'
import { createReporter } from './lib/report.mjs'

const path = '/books-bought'
const report = createReporter(process.env.IDENTITY ?? 'bookreader')

await repeat((signal) =>
  report({ target: 'bookstore', path, signal }, async (limit) => {
    const { status, headers } = await send({ url: `http://bookstore.bookstore:14001${path}`, signal: limit })
    return { status, server: headers.identity }
  }),
)
