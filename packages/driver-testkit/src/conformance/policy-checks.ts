import { X509Certificate } from 'node:crypto'

import type { ApplyReport, Credential } from '@osm-ts/driver-api'
import { hashPart, type RouteMatch } from '@osm-ts/driver-api/policy'

import { SERVER_NAME } from '../fake-host.js'
import { testAuthority } from '../test-certificates.js'
import { called, callers, plainMesh, served, type TestPolicy, together, trustOf } from '../test-policies.js'
import { type Check, expect, type Subject } from './check.js'
import { expectHealthy, type Running, settles, whileRunning } from './running.js'
import type { Judge, StandInSession } from './stand-in.js'

const UUID = 'c0ffee00-0000-4000-8000-000000000001'
const OTHER_UUID = 'c0ffee00-0000-4000-8000-000000000002'
const IDENTITY = 'bookbuyer.default'
const OTHER_IDENTITY = 'bookthief.default'

/** What formats of configurations, templates and shells trip over. Each stands where users may write what they like. */
const hostileTexts = [
  'kitmark"; touch /tmp/kitmark; echo "$(id)`id`',
  'kitmark\nsecond: line\r\n}}]',
  "kitmark'%{#[\\]}<>|&*? ${HOME} {{ .Values }} <%= 1 %>",
  'kitmark\u2028\u202e',
  '--kitmark=1',
]

const accept: Judge = () => undefined

/** What proxies are told of their policies, and what is made of their answers; a {@link StandIn} speaks for them. */
export const policyChecks: readonly Check[] = [
  check('policy.applied', 'a part is reported applied after the proxy has taken it, and not before', async (proxy) => {
    const revision = proxy.publish(plainPolicy())
    let isFirst = true
    let early = false
    await proxy.connect(() => {
      if (isFirst) early = proxy.applied(revision)
      isFirst = false
      return undefined
    })
    await proxy.expectApplied(revision)
    expect(!early, 'everything was reported applied before the proxy had any configuration')
    expect(proxy.session.configuration !== '', 'a policy was reported applied without any configuration for the proxy')
  }),
  check(
    'policy.not-applied',
    'what a proxy refuses is reported rejected with its words, is not called applied, and the next policy is taken',
    async (proxy) => {
      let taking = true
      await proxy.connect(() => (taking ? undefined : 'kit says no'))
      await proxy.expectApplied(proxy.publish(plainPolicy()))
      const before = proxy.session.configuration
      taking = false
      const refused = proxy.publish(plainPolicy(2))
      await proxy.expectReport(
        'the refused configuration is not reported rejected with the words of the proxy',
        ({ revision, parts }) =>
          revision === refused &&
          parts.some(({ state, message }) => state === 'rejected' && message?.includes('kit says no') === true),
      )
      expect(!proxy.applied(refused), 'a policy that the proxy refused is reported applied')
      expect(proxy.session.configuration === before, 'the stand-in has taken what it refused')
      taking = true
      await proxy.expectApplied(proxy.publish(plainPolicy(3)))
    },
  ),
  check('policy.change', 'a change of the policy reaches a proxy that is connected', async (proxy) => {
    await proxy.connect(accept)
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    const before = proxy.session.configuration
    await proxy.expectApplied(proxy.publish(plainPolicy(2)))
    expect(proxy.session.configuration !== before, 'another endpoint changes nothing in the configuration')
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    expect(
      proxy.session.configuration === before,
      'a policy that comes back is another configuration than it was, although nothing of it differs',
    )
  }),
  check('policy.same', 'a step that changes nothing sends nothing, and is reported applied', async (proxy) => {
    await proxy.connect(accept)
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    const { messages } = proxy.session
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    expect(proxy.session.messages === messages, 'a configuration was sent again that the proxy has')
  }),
  {
    ...checkHead(
      'policy.deterministic',
      'the same policy gives the same configuration, byte for byte, for any order of its parts and members and after a restart',
    ),
    prove: async (subject, signal) => {
      const seen = new Set<string>()
      const root = testAuthority('services').certificate
      for (const policy of [plainPolicy(2), backwards(plainPolicy(2))]) {
        const found = await configurationOf(subject, signal, policy, root)
        expect(found !== '', 'the proxy has no configuration')
        seen.add(found)
      }
      expect(seen.size === 1, `there are ${seen.size} configurations of one policy: ${firstDifference(...seen)}`)
    },
  },
  check('policy.frozen', 'what the host hands out is not written to', async (proxy) => {
    await proxy.connect(accept)
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    await proxy.expectApplied(proxy.publish(plainPolicy(2)))
  }),
  ...hostileTexts.map((text, index) => ({
    needs: ['protocol:http'] as const,
    ...check(
      `policy.hostile-text.${index + 1}`,
      `${JSON.stringify(text)} in names, paths and headers of a policy breaks nothing: it is applied or reported, and other policies go on`,
      async (proxy) => {
        await proxy.connect(accept)
        await proxy.expectApplied(proxy.publish(plainPolicy()))
        const revision = proxy.publish(hostilePolicy(text, proxy.subject))
        await proxy.expectReport(
          'a policy with such a text is neither applied nor reported',
          ({ revision: of, complete, parts }) =>
            of === revision && (complete || parts.some(({ state }) => state === 'rejected')),
        )
        await proxy.expectApplied(proxy.publish(plainPolicy()))
        expect(!proxy.session.configuration.includes('kitmark'), 'something of that policy stays when it is gone')
      },
    ),
  })),
  check('policy.superseded', 'a session that the host evicts is ended', async (proxy) => {
    await proxy.connect(accept)
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    const [last] = proxy.running.host.reports.slice(-1)
    proxy.running.host.forget(proxy.commonName)
    proxy.running.host.evict(UUID, last?.session ?? '', 'workload-deleted')
    let over = false
    void proxy.session.ended.then(() => {
      over = true
    })
    expect(await settles(proxy.subject, () => over), 'an evicted session goes on')
    expect(proxy.running.host.ended.includes(last?.session ?? ''), 'the host is not told that the session has ended')
  }),
  check('policy.stranger', 'a proxy that the mesh does not know is given nothing', async (proxy) => {
    proxy.publish(plainPolicy())
    proxy.running.host.forget(proxy.commonName)
    await proxy.connect(accept)
    let over = false
    void proxy.session.ended.then(() => {
      over = true
    })
    expect(await settles(proxy.subject, () => over), 'the session of a proxy that the mesh does not know goes on')
    expect(proxy.session.configuration === '', 'a proxy that the mesh does not know is given a configuration')
    expect(proxy.session.credentials === '', 'a proxy that the mesh does not know is given a certificate')
  }),
  check(
    'policy.identity',
    'a proxy gets the certificate of its own identity and no other, and each that replaces it without a new policy',
    async (proxy) => {
      const { host } = proxy.running
      const first = host.rotateIdentity(IDENTITY)
      const foreign = host.rotateIdentity(OTHER_IDENTITY)
      host.admit(OTHER_UUID, OTHER_IDENTITY)
      await proxy.connect(accept)
      await proxy.expectApplied(proxy.publish(plainPolicy()))
      const has = ({ chain }: { chain: string }) => proxy.session.credentials.includes(bodyOf(chain))
      const current = host.rotateIdentity(IDENTITY)
      expect(
        await settles(proxy.subject, () => has(current)),
        'a new certificate of its identity does not reach the proxy',
      )
      expect(!has(foreign), 'a proxy is given the certificate of another identity')
      expect(first.serialNumber !== current.serialNumber, 'the host has issued one certificate twice')
      expect(
        !proxy.session.configuration.includes('PRIVATE KEY'),
        'the stand-in counts a private key as configuration, where determinism could not be seen',
      )
    },
  ),
  {
    needs: ['proxy-key-certificates'],
    ...check(
      'policy.proxy-key',
      'where certificates are for the keys of proxies, a proxy gets each chain for the key that its handshake has proven, and no key',
      async (proxy) => {
        const { host } = proxy.running
        host.serviceCertificates = 'perProxy'
        await proxy.connect(accept)
        await proxy.expectApplied(proxy.publish(plainPolicy()))
        await proxy.expectOwnChain(0, 'a proxy does not get a chain for its key')
        const { length } = host.forProxyKeys
        host.rotateIdentity(IDENTITY)
        await proxy.expectOwnChain(length, 'a new certificate for the key of the proxy does not reach it')
        const { credentials } = proxy.session
        await proxy.session.close()
        proxy.replaceKey()
        const { length: before } = host.forProxyKeys
        await proxy.connect(accept)
        await proxy.expectOwnChain(before, 'a proxy that returns with another key does not get a chain for that one')
        const isSent = `${credentials}${proxy.session.credentials}`.includes('PRIVATE KEY')
        expect(!isSent, 'a proxy is sent a private key, although its certificate is for its own')
      },
    ),
  },
  check('policy.lasting', 'a proxy that comes back with nothing is given what it had', async (proxy) => {
    await proxy.connect(accept)
    await proxy.expectApplied(proxy.publish(plainPolicy()))
    const before = proxy.session.configuration
    await proxy.session.close()
    await proxy.connect(accept)
    const isBack = await settles(proxy.subject, () => proxy.session.configuration === before)
    expect(isBack, `it has another configuration: ${firstDifference(before, proxy.session.configuration)}`)
  }),
]

/** A proxy of one check: its policy, and the stand-in that speaks for it. */
class Proxy {
  readonly subject: Subject
  readonly running: Running
  readonly commonName: string
  #credential: ReturnType<Running['host']['admit']>['credential']
  readonly #signal: AbortSignal
  #session: StandInSession | undefined

  constructor(subject: Subject, running: Running, signal: AbortSignal) {
    this.subject = subject
    this.running = running
    this.#signal = signal
    const { commonName, credential } = running.host.admit(UUID, IDENTITY)
    this.commonName = commonName
    this.#credential = credential
  }

  get session(): StandInSession {
    if (this.#session === undefined) throw new TypeError('no stand-in has connected')
    return this.#session
  }

  /**
   * @param root - PEM: what proxies are verified by; that of the host if absent
   * @returns its revision
   */
  publish({ changes, parts }: TestPolicy, root?: string): number {
    const { host } = this.running
    const trust = trustOf(root ?? host.services.certificate)
    const common = { trust: hashPart(trust), mesh: hashPart(plainMesh) }
    return host.publishPolicy(UUID, { ...common, ...changes }, [trust, plainMesh, ...parts])
  }

  async connect(judge: Judge): Promise<void> {
    const { host, port } = this.running
    this.#session = await this.subject.standIn?.connect(
      {
        port,
        roots: host.controlPlane.certificate,
        serverName: SERVER_NAME,
        credential: this.#credential,
        uuid: UUID,
        identity: IDENTITY,
        signal: this.#signal,
      },
      judge,
    )
  }

  /** Its proxy certificate is replaced, with its key. */
  replaceKey(): void {
    this.#credential = this.running.host.admit(UUID, IDENTITY).credential
  }

  /** @param issued - certificates for keys of proxies that were issued before */
  async expectOwnChain(issued: number, otherwise: string): Promise<void> {
    const { forProxyKeys } = this.running.host
    const { publicKey } = new X509Certificate(this.#credential.chain)
    const has = ({ chain }: Credential) =>
      new X509Certificate(chain).publicKey.equals(publicKey) && this.session.credentials.includes(bodyOf(chain))
    expect(await settles(this.subject, () => forProxyKeys.slice(issued).some(has)), otherwise)
  }

  applied(revision: number): boolean {
    return this.running.host.reports.some((report) => report.revision >= revision && report.complete)
  }

  async expectApplied(revision: number): Promise<void> {
    const { reports } = this.running.host
    const isSo = await settles(this.subject, () => this.applied(revision))
    expect(isSo, `revision ${revision} is not reported applied; last: ${JSON.stringify(reports.at(-1) ?? 'nothing')}`)
  }

  async expectReport(
    otherwise: string,
    accepts: (report: ApplyReport) => boolean,
    reports: () => readonly ApplyReport[] = () => this.running.host.reports,
  ): Promise<void> {
    const isSo = await settles(this.subject, () => reports().some(accepts))
    expect(isSo, `${otherwise}; reported: ${JSON.stringify(reports())}`)
  }

  close(): Promise<void> {
    return this.#session?.close() ?? Promise.resolve()
  }
}

function checkHead(id: string, proves: string): Pick<Check, 'id' | 'proves' | 'needsStandIn'> {
  return { id, proves, needsStandIn: true }
}

function check(id: string, proves: string, prove: (proxy: Proxy) => Promise<void>): Check {
  return {
    ...checkHead(id, proves),
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const proxy = new Proxy(subject, running, signal)
        try {
          await prove(proxy)
          await expectHealthy(running.probes)
        } finally {
          await proxy.close()
        }
      }),
  }
}

/** The configuration that a policy comes to, in its own control plane. */
async function configurationOf(
  subject: Subject,
  signal: AbortSignal,
  policy: TestPolicy,
  root: string,
): Promise<string> {
  let found = ''
  await whileRunning(subject, async (running) => {
    const proxy = new Proxy(subject, running, signal)
    try {
      await proxy.connect(accept)
      await proxy.expectApplied(proxy.publish(policy, root))
      found = proxy.session.configuration
    } finally {
      await proxy.close()
    }
  })
  return found
}

/** What can be requested of any driver: a TCP service that it serves to one caller, and one that it calls at so many endpoints. */
function plainPolicy(endpoints = 1): TestPolicy {
  const ports = Array.from({ length: endpoints }, (_, index) => 20_001 + index)
  return together(
    served('bookbuyer', 15_003, 14_001, callers('bookwarehouse.default.cluster.local')),
    called([
      {
        name: 'bookstore',
        endpoints: ports,
        outbound: {
          protocol: 'tcp',
          rules: { kind: 'tcp', targets: [{ upstream: 'default/bookstore|8080', weight: 100 }] },
        },
        upstream: { protocol: 'tcp' },
      },
    ]),
  )
}

/** A policy whose users have written that text wherever the driver lets them. */
function hostilePolicy(text: string, { driver }: Subject): TestPolicy {
  const { pathMatches, headerMatches } = driver.capabilities
  const match: RouteMatch = {
    methods: [text],
    ...(pathMatches.includes('exact') && { path: { type: 'exact', value: `/${text}` } }),
    ...(headerMatches.includes('exact') && { headers: [{ name: 'x-kit', match: { type: 'exact', value: text } }] }),
  }
  const allow = callers('bookwarehouse.default.cluster.local')
  return served('bookbuyer', 15_003, 14_001, [{ match, allow }, { allow: callers('bookthief.default.cluster.local') }])
}

/** The same policy, with the members of every object, and the parts, in the opposite order. Lists have a meaning, and stay. */
function backwards({ changes, parts }: TestPolicy): TestPolicy {
  return { changes: turned(changes), parts: parts.map(turned).reverse() }
}

function turned<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  // The same members with the same values: a T as before.
  if (Array.isArray(value)) return value.map(turned) as T
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => [name, turned(member)] as const)
  return Object.fromEntries(members.reverse()) as T
}

/** For the author of a driver: where two texts part. */
function firstDifference(one = '', other = ''): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 60), at + 60))
  return `${around(one)} and ${around(other)}`
}

/** A line of a certificate by which it is known however the lines around it are written: the last whole one, of its signature. */
function bodyOf(pem: string): string {
  return pem.trim().split('\n').at(-3) ?? pem
}
