import { createServer, type Server } from 'node:https'
import { text } from 'node:stream/consumers'
import { TLSSocket } from 'node:tls'

import type { Credential } from '@osm-ts/driver-api'
import { listen } from '@osm-ts/driver-testkit/testing'
import { type EncodedDocument, encodeDocument, type PipyConfig, type PipyCredentials } from '@osm-ts/driver-pipy'

const POLL_MS = 5_000

/** What a worker has said of a document. */
export interface WorkerWord {
  /** Revision of what is in force. */
  readonly applied: string
  /** Credentials of it that it cannot use. */
  readonly unusable: readonly string[]
  /** Revision that it could not apply, and its words. */
  readonly refused?: { readonly revision: string; readonly error: string }
}

/** What a document carries besides the certificate of the worker. */
export type FurtherCredentials = NonNullable<PipyCredentials['further']>

/** The config channel alone: documents by the common name of the worker's certificate, over mutual TLS. */
export interface Channel {
  readonly address: string
  /** Gives a worker a document, and waits until it says that it has applied or refused it. */
  readonly publish: (
    worker: string,
    config: PipyConfig,
    credential?: Credential,
    further?: FurtherCredentials,
  ) => Promise<WorkerWord>
  /** Shows another certificate from now on, takes those of other roots, and ends all connections. */
  readonly rotate: (credential: Credential, roots: readonly string[]) => void
  /** Polls of a worker that wait. */
  readonly waiting: (worker: string) => number
  /** Serial numbers of the certificates that a worker has shown so far. */
  readonly serials: (worker: string) => ReadonlySet<string>
  /** What a worker has said last of plugins that fail. */
  readonly plugins: (worker: string) => unknown
  readonly stop: () => Promise<void>
}

interface Client {
  document: EncodedDocument | undefined
  word: WorkerWord
  readonly listeners: Set<() => void>
  readonly serials: Set<string>
  waiting: number
  /** What it has said last of plugins that fail. */
  plugins: unknown
}

/** Serves documents to workers whose certificates the root has signed. */
export async function startChannel(credential: Credential, root: string, host = '127.0.0.1'): Promise<Channel> {
  const clients = new Map<string, Client>()
  const clientOf = (name: string): Client => {
    const client = clients.get(name) ?? {
      document: undefined,
      word: { applied: '', unusable: [] },
      listeners: new Set(),
      serials: new Set(),
      waiting: 0,
      plugins: undefined,
    }
    clients.set(name, client)
    return client
  }
  const wake = (client: Client): void => {
    for (const listener of [...client.listeners]) listener()
  }
  const server: Server = createServer(
    { cert: credential.chain, key: credential.privateKey, ca: root, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { socket } = request
      if (!(socket instanceof TLSSocket)) throw new TypeError('the server speaks TLS only')
      const { subject, serialNumber } = socket.getPeerCertificate()
      const client = clientOf(String(subject.CN))
      if (request.method === 'POST') {
        void text(request).then((body) => {
          client.plugins = JSON.parse(body)
          response.writeHead(204).end()
        })
        return
      }
      client.serials.add(serialNumber)
      client.waiting += 1
      response.on('close', () => {
        client.waiting -= 1
      })
      const { searchParams } = new URL(request.url ?? '', 'https://channel')
      const revision = searchParams.get('refused')
      client.word = {
        applied: searchParams.get('rev') ?? '',
        unusable: (searchParams.get('unusable') ?? '').split(',').filter((key) => key !== ''),
        ...(revision === null ? {} : { refused: { revision, error: searchParams.get('error') ?? '' } }),
      }
      wake(client)
      const done = (): void => {
        clearTimeout(timer)
        client.listeners.delete(offer)
      }
      const offer = (): void => {
        const { document, word } = client
        if (document === undefined || document.revision === word.applied || document.revision === revision) return
        done()
        response.setHeader('osm-revision', document.revision)
        response.end(document.body)
      }
      const timer = setTimeout(() => {
        done()
        response.statusCode = 204
        response.end()
      }, POLL_MS)
      client.listeners.add(offer)
      response.on('close', done)
      offer()
    },
  )
  const port = await listen(server, host, 0)
  return {
    address: `${host}:${port}`,
    publish: (worker, config, own, further = {}) =>
      new Promise((resolve, reject) => {
        const client = clientOf(worker)
        const document = encodeDocument(config, own && { chain: own.chain, key: own.privateKey, further })
        const timer = setTimeout(() => {
          client.listeners.delete(heard)
          reject(
            new Error(`${worker} said nothing of ${document.revision}; its last word: ${JSON.stringify(client.word)}`),
          )
        }, 15_000)
        const heard = (): void => {
          const { word } = client
          if (word.applied !== document.revision && word.refused?.revision !== document.revision) return
          clearTimeout(timer)
          client.listeners.delete(heard)
          resolve(word)
        }
        client.document = document
        client.word = { applied: client.word.applied, unusable: client.word.unusable }
        client.listeners.add(heard)
        wake(client)
      }),
    rotate: (next, roots) => {
      server.setSecureContext({ cert: next.chain, key: next.privateKey, ca: [...roots] })
      server.closeAllConnections()
    },
    waiting: (worker) => clientOf(worker).waiting,
    serials: (worker) => clientOf(worker).serials,
    plugins: (worker) => clientOf(worker).plugins,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
