// Clients in Node of mail, TLS and bytes.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { digest, failureOf, IDLE_MS, large, own } from './node-tcp-common.mjs'

/** By package. */
export const others = (keys) => ({
  nodemailer: async () => {
    const { createTransport } = await import('nodemailer').then((it) => it.default)
    return ({ host, port }) => {
      const send = async (text, more = {}, to = 'you@corpus.test') => {
        const transport = createTransport({ host, port, ...more })
        try {
          return (
            await transport.sendMail({
              from: 'me@corpus.test',
              to,
              subject: 'corpus',
              text,
              date: new Date(0),
              messageId: '<corpus@corpus.test>',
            })
          ).response
        } finally {
          transport.close()
        }
      }
      return {
        mail: () => send('hello', { ignoreTLS: true }),
        large: () => send(`${'x'.repeat(70)}\n`.repeat(15_000), { ignoreTLS: true }),
        starttls: () => send('hello', { requireTLS: true, tls: { ca: readFileSync(join(keys, 'tls.crt')) } }),
        refused: () =>
          failureOf(send('hello', { ignoreTLS: true }, 'nobody@corpus.test'), ({ responseCode, response }) => ({
            responseCode,
            response,
          })),
      }
    }
  },
  tls:
    () =>
    ({ host, port }) => {
      const ca = readFileSync(join(keys, 'tls.crt'))
      const open = async (more = {}) => {
        const socket = connectTls({ host, port, servername: host, ca, ...more })
        await once(socket, 'secureConnect')
        return socket
      }
      const get = async (path, more) => {
        const socket = await open(more)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: corpus\r\nConnection: close\r\n\r\n`)
        const answer = await buffer(socket)
        return answer.subarray(answer.indexOf('\r\n\r\n') + 4)
      }
      return {
        handshake: async () => {
          const socket = await open({ ALPNProtocols: ['h2', 'http/1.1'] })
          const seen = {
            version: socket.getProtocol(),
            alpn: socket.alpnProtocol,
            subject: socket.getPeerCertificate().subject.CN,
          }
          socket.end()
          return seen
        },
        'old-version': async () => {
          const socket = await open({ maxVersion: 'TLSv1.2' })
          const version = socket.getProtocol()
          socket.end()
          return version
        },
        request: async () => (await get('/seen')).toString(),
        'client-certificate': async () =>
          (await get('/seen', { cert: ca, key: readFileSync(join(keys, 'tls.key')) })).toString(),
        large: async () => digest(await get('/large')),
      }
    },
  net:
    () =>
    ({ host, port }) => {
      // The first line says what the server does: see node-tcp-server.mjs.
      const open = async (mode) => {
        const socket = connectTcp({ host, port, allowHalfOpen: true })
        const [greeting] = await once(socket, 'data')
        socket.write(`${mode}\n`)
        return { socket, greeting: greeting.toString() }
      }
      const end = (socket) =>
        new Promise((resolve) => socket.once('close', (hadError) => resolve(hadError ? 'error' : 'closed')))
      return {
        greeting: async () => {
          const { socket, greeting } = await open('close')
          return { greeting, rest: (await buffer(socket)).toString() }
        },
        'half-close': async () => {
          const { socket } = await open('digest')
          socket.end(large)
          return (await buffer(socket)).toString()
        },
        'server-half-close': async () => {
          const { socket } = await open('half-close')
          const parts = []
          socket.on('data', (part) => parts.push(part))
          await once(socket, 'end')
          const rest = Buffer.concat(parts).toString()
          // The server still reads, and says in its next greeting what it got.
          socket.end(`${own} after the end`)
          await end(socket)
          const { socket: other } = await open(`left ${own}`)
          return { rest, left: (await buffer(other)).toString() }
        },
        reset: async () => {
          const { socket } = await open('reset')
          socket.on('error', () => undefined)
          socket.resume()
          return end(socket)
        },
        idle: async () => {
          const { socket } = await open('echo')
          await sleep(IDLE_MS)
          const echoed = once(socket, 'data')
          socket.write('after a pause')
          const [answer] = await echoed
          socket.end()
          return answer.toString()
        },
        large: async () => {
          const { socket } = await open('large')
          return digest(await buffer(socket))
        },
      }
    },
})
