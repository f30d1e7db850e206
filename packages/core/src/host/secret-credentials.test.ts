import { describe, expect, it } from '@jest/globals'
import type { Credential, ProxyRef } from '@osm-ts/driver-api'
import type { CredentialRef, MeshPart, ProxyPart, UpstreamPart } from '@osm-ts/driver-api/policy'

import { makePart, type PolicyPart } from '../catalog/policy/parts/policy-part.js'
import type { SecretSource } from '../secrets/secret-source.js'
import { SecretCredentials } from './secret-credentials.js'

const partner = { kind: 'secret', namespace: 'shop', name: 'partner' } as const
const proxy = { uuid: 'u', identity: 'store.shop', namespace: 'shop' } as unknown as ProxyRef
const credential = (serialNumber: string): Credential => ({ chain: '', privateKey: '', expiry: '', serialNumber })

/** A policy with one way out. */
function policy(ref: CredentialRef): PolicyPart<ProxyPart> {
  const upstream = makePart({
    kind: 'upstream',
    id: 'pay.example.com:8443',
    tls: { mode: 'originate', serverName: 'pay.example.com', subjectAltNames: [], credential: ref, roots: ref },
  } as unknown as UpstreamPart)
  const set = makePart({ kind: 'set', id: 's', of: 'upstream', members: [], sets: [] }, { children: [upstream] })
  return makePart({ kind: 'proxy', id: 'u' } as unknown as ProxyPart, { children: [set, set] })
}

function host(inForce: PolicyPart<ProxyPart> | undefined) {
  const listeners = new Set<() => void>()
  const state = {
    policy: inForce,
    credential: undefined as Credential | undefined,
    headers: {} as Record<string, string>,
  }
  const secrets: SecretSource = {
    follow: () => undefined,
    states: () => new Map(),
    credential: () => state.credential,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    settled: async () => undefined,
  }
  const change = (after: Partial<typeof state>): void => {
    Object.assign(state, after)
    for (const listener of listeners) listener()
  }
  return {
    change,
    listeners,
    credentials: new SecretCredentials({
      policies: { policyFor: () => state.policy },
      secrets,
      headerValues: { value: (name) => state.headers[name], subscribe: secrets.subscribe },
    }),
  }
}

describe('client certificates of Secrets', () => {
  it('are given to proxies whose policy names them, with whatever replaces them, until it names them no more', async () => {
    const { credentials, change, listeners } = host(policy(partner))
    const given = credentials.watch(proxy, partner, new AbortController().signal)[Symbol.asyncIterator]()
    const next = async () => {
      const step = await given.next()
      return step.done === true ? 'the end' : step.value.serialNumber
    }
    const first = next()
    change({ credential: credential('1') })
    await expect(first).resolves.toBe('1')
    const second = next()
    change({ credential: undefined })
    change({ credential: credential('2') })
    await expect(second).resolves.toBe('2')
    const end = next()
    change({ credential: credential('3'), policy: policy({ kind: 'service' }) })
    await expect(end).resolves.toBe('the end')
    expect(listeners.size).toBe(0)
  })

  it.each([
    ['is not there', undefined],
    ['names another', policy({ ...partner, name: 'other' })],
    ['shows the own certificate', policy({ kind: 'service' })],
  ])('are given to no one whose policy %s', (_, inForce) => {
    const { credentials } = host(inForce)
    expect(() => credentials.watch(proxy, partner, new AbortController().signal)).toThrow(
      expect.objectContaining({ code: 'OSM_CREDENTIAL_DENIED' }),
    )
  })
})

describe('values of headers', () => {
  const header = { kind: 'egress', name: 'remote-logging' } as const
  const logging = (authorization: CredentialRef | undefined): PolicyPart<ProxyPart> => {
    const mesh = makePart({ kind: 'mesh', id: 'mesh', remoteLogging: { authorization } } as unknown as MeshPart)
    return makePart({ kind: 'proxy', id: 'u' } as unknown as ProxyPart, { children: [mesh] })
  }

  it('are given to proxies whose policy names them, once each', async () => {
    const { credentials, change } = host(logging(header))
    const given = credentials.watch(proxy, header, new AbortController().signal)[Symbol.asyncIterator]()
    const next = async () => {
      const step = await given.next()
      return step.done === true ? 'the end' : step.value.headerValue
    }
    const first = next()
    change({ headers: { other: 'x' } })
    change({ headers: { 'remote-logging': 'Basic 1' } })
    await expect(first).resolves.toBe('Basic 1')
    const second = next()
    change({ headers: { 'remote-logging': 'Basic 1' } })
    await new Promise((resolve) => setImmediate(resolve))
    change({ headers: { 'remote-logging': 'Basic 2' } })
    await expect(second).resolves.toBe('Basic 2')
    const third = next()
    change({ policy: logging(undefined) })
    await expect(third).resolves.toBe('the end')
  })

  it('are denied to others', () => {
    const { credentials } = host(logging({ kind: 'egress', name: 'another' }))
    expect(() => credentials.watch(proxy, header, new AbortController().signal)).toThrow('no reference to egress')
    // What is behind a Secret of the same name is another matter.
    const { credentials: other } = host(logging(header))
    const secret = { kind: 'secret', namespace: '', name: 'remote-logging' } as const
    expect(() => other.watch(proxy, secret, new AbortController().signal)).toThrow('no reference to secret')
  })
})
