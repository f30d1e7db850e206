// Sells books and orders new ones from the bookwarehouse. Runs in two versions that differ in their name, IDENTITY, only.
import { send } from './lib/http.mjs'
import { createReporter } from './lib/report.mjs'
import { httpServer, listen } from './lib/server.mjs'

const identity = process.env.IDENTITY ?? 'bookstore'
const warehouse = 'http://bookwarehouse.bookwarehouse:14001'
const report = createReporter(identity)
const state = { booksBought: 0 }

async function restock(books) {
  const path = '/restock-books'
  await report({ target: 'bookwarehouse', path }, async (limit) => {
    const { status, headers } = await send({ method: 'POST', url: warehouse + path, body: { books }, signal: limit })
    return { status, server: headers.identity }
  })
}

const server = httpServer(identity, {
  'GET /books-bought': async () => state,
  'GET /buy-a-book/new': async () => {
    state.booksBought += 1
    // The book is sold, whether a new one comes or not.
    await restock(1)
    return state
  },
  'POST /update-books-bought': async (text) => {
    const { booksBought } = JSON.parse(text)
    if (!Number.isSafeInteger(booksBought) || booksBought < 0) throw new Error('booksBought must be a whole number')
    state.booksBought = booksBought
    return state
  },
})

listen(server, { name: identity, port: 14001 })
