import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger, systemClock } from '@osm-ts/core'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { WorkloadApiStandIn } from '../../test/workload-api/workload-api-stand-in.js'
import { WorkloadApiRoots } from './workload-api-roots.js'
import { decodeX509Bundles } from './x509-bundles.js'

describe('WorkloadApiRoots', () => {
  let folder: string
  let agent: WorkloadApiStandIn
  let abort: AbortController
  let forbidden: readonly string[]
  let roots: WorkloadApiRoots
  let running: Promise<void>

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'osm-workload-api-'))
    agent = await WorkloadApiStandIn.make(join(folder, 'agent.sock'))
    abort = new AbortController()
    forbidden = []
    roots = new WorkloadApiRoots({
      socketPath: agent.socketPath,
      trustDomain: 'cluster.local',
      forbidden: () => forbidden,
      clock: systemClock,
      random: Math.random,
      logger: createLogger('test', 'disabled'),
    })
    running = roots.run(abort.signal)
  })

  afterEach(async () => {
    abort.abort()
    await running
    await agent.close()
    await rm(folder, { recursive: true, force: true })
  })

  const prints = (pems: readonly string[]): readonly string[] =>
    pems.map((pem) => new X509Certificate(pem).fingerprint256).sort()
  const expectRoots = (expected: readonly string[]): Promise<unknown> =>
    eventually(
      () => prints(roots.current()).join(),
      (found) => found === prints(expected).join(),
    )
  const expectFault = (code: string, words: RegExp): Promise<unknown> =>
    eventually(
      () => roots.faults()[0],
      (fault) => fault?.code === code && words.test(fault.message),
    )

  it('waits for an agent that is not there yet, and says so', async () => {
    await expectFault('OSM_CERT_WORKLOAD_API', /agent\.sock/)
    expect(roots.current()).toEqual([])
    await agent.start()
    await roots.opened
    await expectRoots(agent.roots)
    expect(roots.faults()).toEqual([])
  })

  it('follows a root that is prepared, and one that is dropped', async () => {
    await agent.start()
    await expectRoots(agent.roots)
    await agent.prepareRoot()
    expect(agent.roots).toHaveLength(2)
    await expectRoots(agent.roots)
    await agent.activateRoot()
    agent.dropFormerRoots()
    expect(agent.roots).toHaveLength(1)
    await expectRoots(agent.roots)
  })

  it('keeps the last roots while the agent is away, and follows it again when it is back', async () => {
    await agent.start()
    await expectRoots(agent.roots)
    const before = agent.roots
    await agent.stop()
    await expectFault('OSM_CERT_WORKLOAD_API', /./)
    await expectRoots(before)
    await agent.prepareRoot()
    await agent.start()
    await expectRoots(agent.roots)
    expect(roots.faults()).toEqual([])
  })

  it('refuses the bundle of another trust domain, and names both', async () => {
    await agent.start()
    await expectRoots(agent.roots)
    const before = agent.roots
    await agent.prepareRoot()
    await expectRoots(agent.roots)
    agent.trustDomain = 'other.example'
    agent.tellBundles()
    await expectFault('OSM_CERT_WORKLOAD_API_BUNDLE', /cluster\.local.*spiffe:\/\/other\.example/)
    expect(prints(roots.current())).toEqual(prints(agent.roots))
    expect(before).toHaveLength(1)
  })

  it.each([
    ['no certificate', Buffer.alloc(0)],
    ['something else', Buffer.from('no DER at all')],
  ])('refuses a bundle with %s and keeps the last', async (_what, bundle) => {
    await agent.start()
    await expectRoots(agent.roots)
    agent.bundle = bundle
    agent.tellBundles()
    await expectFault('OSM_CERT_WORKLOAD_API_BUNDLE', /./)
    await expectRoots(agent.roots)
  })

  it('refuses the root of the control plane', async () => {
    forbidden = agent.roots
    await agent.start()
    await expectFault('OSM_CERT_WORKLOAD_API_BUNDLE', /key of the control plane/)
    expect(roots.current()).toEqual([])
  })
})

describe('decodeX509Bundles', () => {
  it('skips fields that it does not know', () => {
    expect([...decodeX509Bundles(Buffer.from('0a0378797a120b0a047465737412031020301801', 'hex'))]).toEqual([
      ['test', new Uint8Array([0x10, 0x20, 0x30])],
    ])
  })

  it('refuses what is cut short', () => {
    expect(() => decodeX509Bundles(Buffer.from('120b0a04', 'hex'))).toThrow()
  })
})
