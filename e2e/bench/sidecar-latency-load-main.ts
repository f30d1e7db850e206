import { connect } from 'node:net'

import { RawClient } from '../dataplane/support/differential/raw-http.js'
import type { LatencyLoad, LatencySamples } from './sidecar-latency.js'

// Its own process, so that nothing else takes its turns: sends one request at a time, to each path in turn, and reports how long each took.
process.once('message', (load: LatencyLoad) => {
  run(load).then(
    (samples) => {
      process.send?.(samples, () => process.disconnect())
    },
    (error: unknown) => {
      throw error
    },
  )
})

async function run({ paths, warmUp, requests }: LatencyLoad): Promise<LatencySamples> {
  const targets = Object.entries(paths).map(([name, { host, port, bytes }]) => ({
    name,
    bytes: Buffer.from(bytes, 'latin1'),
    client: new RawClient(
      () =>
        new Promise((resolve, reject) => {
          const socket = connect({ host, port, noDelay: true }, () => resolve(socket))
          socket.once('error', reject)
        }),
    ),
    samples: [] as number[],
  }))
  for (let n = 0; n < warmUp + requests; n += 1) {
    for (const { name, bytes, client, samples } of targets) {
      const start = performance.now()
      const { status, body } = await client.ask(bytes)
      const took = performance.now() - start
      if (status !== 200) throw new Error(`${name} was answered ${status}: ${body}`)
      if (n >= warmUp) samples.push(took)
    }
  }
  for (const { client } of targets) client.close()
  return Object.fromEntries(targets.map(({ name, samples }) => [name, samples]))
}
