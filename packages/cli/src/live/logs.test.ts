import { describe, expect, it } from '@jest/globals'
import { readObjects } from '@osm-ts/core'
import type { ReportedRequest } from '@osm-ts/standalone'

import { proxyStatus } from '../../test/sample-view.js'
import { Convergence } from './convergence.js'
import { MeshObserver } from './mesh-observer.js'
import { Screen } from './screen.js'
import { certificateIn } from './sidecar-certificates.js'
import { SplitLog, wantedSplits } from './split-log.js'
import { TrafficLog } from './traffic-log.js'
import { untilQuiet } from './until-quiet.js'

function request(time: number, more: Partial<ReportedRequest> = {}): ReportedRequest {
  return { time, client: 'c-0', namespace: 'n', target: 'shop', path: '/', status: 200, durationMs: 5, ...more }
}

describe('TrafficLog', () => {
  it('counts what is let through and what is not', () => {
    const log = new TrafficLog()
    for (const status of [200, 204, 403, 0]) log.record(request(1000, { status }))
    expect(log.rows(2000)).toMatchObject([{ allowed: 2, denied: 2, statuses: { 0: 1, 200: 1, 204: 1, 403: 1 } }])
  })

  it('leaves out requests that began before it did', () => {
    const log = new TrafficLog(1000)
    log.record(request(1004))
    expect(log.rows(2000)).toEqual([])
    log.record(request(1005))
    expect(log.rows(2000)).toHaveLength(1)
  })

  it('gives the rate of the last seconds, without the one that is running', () => {
    const log = new TrafficLog()
    for (let time = 0; time < 20_500; time += 250) log.record(request(time))
    expect(log.rows(20_500)[0]?.rate).toBe(4)
    expect(log.rows(60_000)[0]?.rate).toBe(0)
  })

  it('is bounded, whatever paths a workload makes up', () => {
    const log = new TrafficLog()
    for (let index = 0; index < 1000; index += 1) log.record(request(index, { path: `/${index}` }))
    expect(log.rows(2000)).toHaveLength(200)
  })
})

const yaml = (weight: number): string => `
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: split, namespace: shop }
spec:
  service: shop.shop
  backends: [{ service: shop-v1, weight: ${weight} }, { service: shop-v2, weight: 1 }]
---
apiVersion: v1
kind: Service
metadata: { name: shop-v2, namespace: shop }
spec: { selector: { version: v2 }, ports: [{ port: 80 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: second, namespace: shop, labels: { version: v2 } }
spec: { command: [node] }
`

describe('SplitLog', () => {
  const wanted = wantedSplits(readObjects(yaml(3)).objects)

  it('reads shares, and which workloads are behind a backend', () => {
    expect(wanted).toEqual([
      {
        name: 'shop/split',
        apex: 'shop',
        backends: [
          { service: 'shop-v1', share: 0.75, servers: ['shop-v1'] },
          { service: 'shop-v2', share: 0.25, servers: ['shop-v2', 'second'] },
        ],
      },
    ])
  })

  it('counts answers to the apex by backend', () => {
    const log = new SplitLog()
    log.want(wanted, 0)
    for (const server of ['shop-v1', 'second', 'shop-v2', 'stranger']) log.record(request(10, { server }))
    log.record(request(10, { server: 'shop-v1', target: 'other' }))
    log.record(request(10, { status: 403 }))
    expect(log.splits()[0]).toMatchObject({ sample: 3, backends: [{ answers: 1 }, { answers: 2 }] })
  })

  it('starts counting again when the weights change, and only then', () => {
    const log = new SplitLog()
    log.want(wanted, 0)
    log.record(request(10, { server: 'shop-v1' }))
    log.want(wantedSplits(readObjects(yaml(3)).objects), 20)
    expect(log.splits()[0]).toMatchObject({ sample: 1, since: 0 })
    log.want(wantedSplits(readObjects(yaml(1)).objects), 20)
    expect(log.splits()[0]).toMatchObject({ sample: 0, since: 20, backends: [{ share: 0.5 }, { share: 0.5 }] })
    log.record(request(24, { server: 'shop-v1' }))
    expect(log.splits()[0]?.sample).toBe(0)
  })
})

describe('Convergence', () => {
  const applied = [proxyStatus('a-0', 'n', 'a'), proxyStatus('b-0', 'n', 'b')]

  it('runs from the last connection to the last configuration applied', async () => {
    const convergence = new Convergence()
    convergence.look([], 2, 100)
    convergence.look([applied[0]!], 2, 200)
    convergence.look([applied[0]!, { ...applied[1]!, connected: false, state: 'stale' }], 2, 300)
    convergence.look([applied[0]!, { ...applied[1]!, state: 'unknown' }], 2, 400)
    convergence.look([applied[0]!, { ...applied[1]!, wantedVersion: 'newer' }], 2, 500)
    convergence.look(applied, 2, 600)
    convergence.look(applied, 2, 700)
    expect(await convergence.settled()).toEqual({ connectedAt: 300, appliedAt: 600 })
  })
})

describe('untilQuiet', () => {
  const signal = new AbortController().signal

  it('waits until nothing has changed for a while', async () => {
    let time = 0
    let looks = 0
    await untilQuiet(
      () => {
        looks += 1
        const version = looks < 5 ? `version ${looks}` : 'last version'
        return [proxyStatus('a-0', 'n', 'a', { wantedVersion: version, appliedVersion: version })]
      },
      { quietMs: 3, limitMs: 1000, now: () => time++, signal },
    )
    expect(looks).toBeGreaterThanOrEqual(6)
  })

  it('gives up when the time is up', async () => {
    let time = 0
    const never = [proxyStatus('a-0', 'n', 'a', { state: 'rejected' })]
    await untilQuiet(() => never, { quietMs: 1000, limitMs: 20, now: () => time++, signal })
    expect(time).toBeLessThan(40)
  })
})

describe('MeshObserver', () => {
  it('gathers events into a view', () => {
    const observer = new MeshObserver({ folder: 'mesh', cwd: '/', mode: 'explicit', now: () => 5000 })
    const seen: ReportedRequest[] = []
    const end = observer.onRequest((each) => seen.push(each))
    observer.record({ type: 'request', request: request(4000) })
    end()
    observer.record({ type: 'request', request: request(4500) })
    observer.record({ type: 'workload', instance: 'c-0', namespace: 'n', state: 'exited', detail: 'code 1' })
    observer.record({ type: 'output', instance: 'c-0', namespace: 'n', stream: 'stderr', line: 'boom' })
    expect(seen).toHaveLength(1)
    expect(observer.view().traffic).toMatchObject([{ allowed: 2 }])
    expect(observer.view().notices).toEqual(['00:00:05 n/c-0 exited: code 1'])
    expect(observer.errorLines()).toEqual(['c-0: boom'])
  })
})

describe('certificateIn', () => {
  it('finds the certificate with an identity among those of Envoy', () => {
    const uri = 'spiffe://cluster.local/a/n'
    const certificates = [
      { ca_cert: [], cert_chain: [{ subject_alt_names: [{ dns: 'uuid.sidecar' }] }] },
      { ca_cert: [], cert_chain: [{ subject_alt_names: [{ dns: 'a.n.cluster.local' }, { uri }] }] },
    ]
    expect(certificateIn({ certificates })).toEqual({ uris: [uri] })
    expect(certificateIn({ certificates: certificates.slice(0, 1) })).toBeUndefined()
    expect(certificateIn('nonsense')).toBeUndefined()
  })
})

describe('Screen', () => {
  it('draws each picture in one write that never clears first, and gives the terminal back', () => {
    const writes: string[] = []
    const screen = new Screen({ columns: 80, rows: 3, write: (text) => writes.push(text) })
    screen.draw(['a', 'b'])
    screen.draw(['1', '2', '3', '4'])
    screen.close()
    screen.close()
    expect(writes).toHaveLength(4)
    expect(writes[0]).toContain('[?1049h')
    expect(writes[2]).toContain('1\u001B[K\r\n2\u001B[K\r\n… 2 more lines')
    expect(writes.slice(1).join('')).not.toContain('[2J')
    expect(writes[3]).toBe('\u001B[?25h\u001B[?1049l')
  })
})
