import { Agent, request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { BENCH_NAMESPACE } from './injection-pods.js'

// The least that an injector can do which reads no pod and issues nothing: for each review over TLS it writes bytes of the size of a Secret to the API server,
// and then answers with bytes of the size of a patch. Takes its options as argument, prints its port, and on each line of its standard input the seconds of
// processor time that it has taken.

interface FloorOptions {
  /** Of the API server. */
  readonly api: string
  readonly key: string
  readonly cert: string
}

/** What the injector writes for the pod of the benchmark, give or take a few bytes. */
const SECRET_OCTETS = 9_700
const ANSWER_OCTETS = 8_160

const { api, key, cert } = JSON.parse(process.argv[2] ?? '') as FloorOptions
const agent = new Agent({ keepAlive: true })
const answer = JSON.stringify({ allowed: true, patchType: 'JSONPatch', patch: 'p'.repeat(ANSWER_OCTETS) })
let written = 0

function secret(): string {
  written += 1
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: BENCH_NAMESPACE, name: `floor-${written}` },
    data: { bootstrap: 's'.repeat(SECRET_OCTETS) },
  })
}

/** Resolves when the API server has it. */
async function store(): Promise<void> {
  const body = secret()
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  }
  await new Promise<void>((resolve, reject) => {
    const url = `${api}/api/v1/namespaces/${BENCH_NAMESPACE}/secrets`
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

const server = createServer({ key, cert, minVersion: 'TLSv1.3' }, (review, response) => {
  const done = async (): Promise<void> => {
    JSON.parse(await text(review))
    await store()
    response.setHeader('content-type', 'application/json').end(answer)
  }
  done().catch((error: unknown) => {
    response.destroy(error instanceof Error ? error : undefined)
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port)
})
process.stdin
  .on('data', () => {
    const { user, system } = process.cpuUsage()
    console.log((user + system) / 1e6)
  })
  .on('end', () => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
