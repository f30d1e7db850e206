import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import type { ServerKey } from './baseline-server.js'

/** What the injector writes for the pod of the benchmark, give or take a few bytes. */
const SECRET_OCTETS = 9_700
const ANSWER_OCTETS = 8_160

/**
 * The least that an injector can do which reads no pod and issues nothing: for each review over TLS it writes bytes of the size of a Secret to the API server,
 * and then answers with bytes of the size of a patch. Gives the port.
 */
export async function serveReviews({
  key: { chain, privateKey },
  api,
  namespace,
}: {
  readonly key: ServerKey
  /** URL of the API server. */
  readonly api: string
  readonly namespace: string
}): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const answer = JSON.stringify({ allowed: true, patchType: 'JSONPatch', patch: 'p'.repeat(ANSWER_OCTETS) })
  let written = 0
  /** Resolves when the API server has a Secret. */
  const store = async (): Promise<void> => {
    written += 1
    const metadata = { namespace, name: `floor-${written}` }
    const data = { bootstrap: 's'.repeat(SECRET_OCTETS) }
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, data })
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    }
    await new Promise<void>((resolve, reject) => {
      const url = `${api}/api/v1/namespaces/${namespace}/secrets`
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        response.resume().once('end', () => {
          if (response.statusCode === 201) resolve()
          else reject(new Error(`the API server answered ${response.statusCode ?? 0}`))
        })
      })
      sent.once('error', reject)
      sent.end(body)
    })
  }
  const server = createServer({ key: privateKey, cert: chain, minVersion: 'TLSv1.3' }, (review, response) => {
    const done = async (): Promise<void> => {
      JSON.parse(await text(review))
      await store()
      response.setHeader('content-type', 'application/json').end(answer)
    }
    done().catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
