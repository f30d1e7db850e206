// Sends books to the bookstore. No one else may ask, and it relies on the mesh for that: it checks nothing itself.
import { httpServer, listen } from './lib/server.mjs'

const identity = process.env.IDENTITY ?? 'bookwarehouse'
const state = { booksSent: 0 }

const server = httpServer(identity, {
  'POST /restock-books': async (text) => {
    const { books } = JSON.parse(text)
    if (!Number.isSafeInteger(books) || books < 1) throw new Error('books must be a whole number above zero')
    state.booksSent += Number(books)
    return state
  },
})

listen(server, { name: identity, port: 14001 })
