// Looks up how many books were bought, which it may, and tries to get at books in two ways, which it may not: the sidecar of the
// bookstore answers 403, and for the bookwarehouse its own sidecar knows no way.
import { repeat } from './lib/client.mjs'
import { send } from './lib/http.mjs'
import { createReporter } from './lib/report.mjs'

const attempts = [
  { target: 'bookstore', url: 'http://bookstore.bookstore:14001', path: '/books-bought' },
  { target: 'bookstore', url: 'http://bookstore.bookstore:14001', path: '/buy-a-book/new' },
  {
    target: 'bookwarehouse',
    url: 'http://bookwarehouse.bookwarehouse:14001',
    path: '/restock-books',
    method: 'POST',
    body: { books: 1000 },
  },
]
const report = createReporter('bookthief')

await repeat(async (signal) => {
  for (const { target, url, path, method, body } of attempts) {
    await report({ target, path, signal }, async (limit) => {
      const { status, headers } = await send({ method, url: url + path, body, signal: limit })
      return { status, server: headers.identity }
    })
  }
})
