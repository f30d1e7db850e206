// Buys books, and looks up how many were bought. Both are allowed by mesh/traffic-access.yaml.
import { repeat } from './lib/client.mjs'
import { send } from './lib/http.mjs'
import { createReporter } from './lib/report.mjs'

const bookstore = 'http://bookstore.bookstore:14001'
const report = createReporter('bookbuyer')

await repeat(async (signal) => {
  for (const path of ['/buy-a-book/new', '/books-bought']) {
    await report({ target: 'bookstore', path, signal }, async (limit) => {
      const { status, headers } = await send({ url: bookstore + path, signal: limit })
      return { status, server: headers.identity }
    })
  }
})
