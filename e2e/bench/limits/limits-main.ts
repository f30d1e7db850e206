import {
  certificateNames,
  MemoryCaStore,
  parseMeshDomains,
  parseProxyUUID,
  systemClock,
  issueLeaf,
  TresorProvider,
  proxyKeyOfInstance,
  type ProxyKey,
} from '@osm-ts/core'
import type { Credential, ProxyRef, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'

import { largeMesh } from '@osm-ts/core/testing'
import { ComputedPolicies } from '../computed-policies.js'
import type { LimitFigures, LimitSize } from './limits.js'
import { Replica, StandInSession } from './session.js'

// One replica with so many sessions, in its own process: what an earlier one left would be measured with it. Takes the size as its argument, prints the figures, both JSON.

const { proxies, replicas, reach, changes } = JSON.parse(process.argv[2] ?? '') as LimitSize
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const signal = new AbortController().signal
const MEBIBYTE = 2 ** 20
const DAY_MS = 86_400_000

/** MiB of the heap and what it holds outside, after collections. */
async function inUse(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / MEBIBYTE
}

/** Seconds of processor time that something took, collections of its garbage included. */
async function cpu<T>(action: () => Promise<T> | T): Promise<readonly [T, number]> {
  const start = process.cpuUsage()
  const result = await action()
  const { user, system } = process.cpuUsage(start)
  return [result, (user + system) / 1e6]
}

async function measure(): Promise<LimitFigures> {
  const services = Math.ceil(proxies / replicas)
  const empty = await inUse()
  const objects = largeMesh({ services, namespaces: 10, reach, replicas })
  const withObjects = await inUse()
  const policies = new ComputedPolicies()
  const [, computation] = await cpu(() => policies.start(objects))
  const withPolicies = await inUse()

  const authority = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  })
  const [root = ''] = authority.trustBundle('workload')
  const replica = new Replica(policies.computation.parts, root)
  const instances = objects.flatMap((object) => (object.kind === 'WorkloadInstance' ? [object] : []))
  // One for each identity, shared by its proxies.
  const credentials = new Map<string, Credential>()
  const accounts = new Map(instances.map((each) => [accountKey(each), accountOf(each)]))
  const [, issuing] = await cpu(async () => {
    for (const [key, account] of accounts) {
      const subject = { kind: 'service', serviceAccount: account, services: [account] } as const
      const names = certificateNames(subject, domains)
      const certificate = await issueLeaf(
        authority,
        { ...names, validityMs: DAY_MS, key: { algorithm: 'ECDSA' } },
        signal,
      )
      credentials.set(key, {
        chain: certificate.chain,
        privateKey: certificate.privateKey(),
        expiry: '',
        serialNumber: '',
      })
    }
  })
  authority.close()
  const before = await inUse()
  const sessions = new Map<ProxyKey, StandInSession>()
  const [, connecting] = await cpu(async () => {
    for (const instance of instances) {
      const uuid = parseProxyUUID(instance.spec.uuid)
      const session = new StandInSession(replica, refOf(uuid, accountOf(instance)))
      sessions.set(proxyKeyOfInstance(instance), session)
      const credential = credentials.get(accountKey(instance))
      if (credential === undefined) throw new Error('a proxy has no certificate')
      await session.connect(policies.policyOf(proxyKeyOfInstance(instance)), credential)
    }
  })
  const withSessions = await inUse()
  const octets = [...sessions.values()].reduce((sum, session) => sum + session.octets, 0)
  const missing = [...sessions.values()].filter(({ applied }) => !applied).length
  if (missing > 0) throw new Error(`${missing} of ${proxies} proxies have not got their policy`)

  // An endpoint of the middle goes and comes.
  const moved = instances[Math.floor(services / 2) * replicas]
  if (moved === undefined) throw new Error('the mesh has no workload')
  const place = accountOf(moved)
  let affected = 0
  const [, changing] = await cpu(async () => {
    for (let n = 0; n < changes; n += 1) {
      const object = { ...moved, spec: { ...moved.spec, ready: n % 2 === 1 } }
      const changed = policies.change([object], { services: [place], accounts: [place] })
      affected = changed.length
      for (const { proxy } of changed) await sessions.get(proxy)?.move(policies.policyOf(proxy))
    }
  })
  return {
    proxies: instances.length,
    services,
    memoryMiB: {
      objects: withObjects - empty,
      policies: withPolicies - withObjects,
      sessions: withSessions - before,
      perProxyKiB: ((withSessions - before + withPolicies - empty) / instances.length) * 1024,
    },
    cpu: {
      firstComputationMsPerProxy: (computation / instances.length) * 1000,
      certificateMs: (issuing / accounts.size) * 1000,
      connectMsPerProxy: (connecting / instances.length) * 1000,
      changeMs: (changing / changes) * 1000,
      changeMsPerAffected: (changing / changes / affected) * 1000,
    },
    affected,
    octetsPerProxy: octets / instances.length,
  }
}

interface Named {
  readonly metadata: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }
}

/** The account of a workload, which is also the name of its service. */
function accountOf({ metadata: { namespace, labels } }: Named): ServiceAccountRef {
  return { namespace, name: labels.app ?? '' }
}

function accountKey(each: Named): string {
  const { namespace, name } = accountOf(each)
  return `${namespace}/${name}`
}

function refOf(uuid: ProxyUUID, { namespace, name }: ServiceAccountRef): ProxyRef {
  const identity = `${name}.${namespace}`
  const commonName = `${uuid}.sidecar.${identity}.cluster.local`
  // Brands of names that parsers would give.
  return {
    uuid,
    identity,
    principal: `${identity}.cluster.local`,
    namespace,
    class: 'envoy',
    commonName,
    session: `session-${uuid}`,
  } as ProxyRef
}

console.log(JSON.stringify(await measure()))
