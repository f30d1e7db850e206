import type { InjectorContext } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'

import { injectorContext } from '../injector-context.js'
import { testAuthority } from '../test-certificates.js'
import type { Subject } from './check.js'
import { contractOf } from './running.js'

/** Of an environment variable of the workload, which is no matter of any driver. */
export const WORKLOAD_SECRET = 'hunter2-of-the-workload'

const user = (text: string): Partial<InjectorContext> => ({
  pod: podWith(text),
  originalHealthProbes: probesWith(text),
  locality: { region: text, zone: text, subZone: text },
})

/** Where users' words come in, each by itself: a driver that refuses one must not hide what it does with another. */
export const userTexts: Readonly<Record<string, (text: string) => Partial<InjectorContext>>> = {
  pod: (text) => ({ pod: podWith(text) }),
  originalHealthProbes: (text) => ({ originalHealthProbes: probesWith(text) }),
  locality: (text) => ({ locality: { region: text, zone: text, subZone: text } }),
  networkInterfaceExclusionList: (text) => ({ networkInterfaceExclusionList: [text] }),
}

const explicit: Partial<InjectorContext> = {
  interceptionMode: 'none',
  listen: {
    outboundHttp: { address: '127.0.0.1', port: 15201 },
    admin: { address: '127.0.0.1', port: 15200 },
    metrics: { address: '127.0.0.1', port: 15202 },
  },
}

/** A mode by the name that capabilities give it. */
export type Mode = 'explicit' | 'transparent'

/** Makes contexts for one subject, with certificates that are some. */
export class PatchContexts {
  readonly #subject: Subject
  readonly #known: Partial<InjectorContext>

  constructor(subject: Subject) {
    this.#subject = subject
    const authority = testAuthority('control-plane')
    const { chain, expiry, serialNumber } = authority.issue(injectorContext().proxyCommonName)
    this.#known = { bootstrapCertificate: { chain, expiry, serialNumber }, trustBundle: [authority.certificate] }
  }

  /** What a host says of an ordinary workload. */
  of(mode: Mode, changes: Partial<InjectorContext> = {}): InjectorContext {
    return injectorContext({
      ...user('web'),
      ...this.#known,
      podOS: this.#system(),
      contract: contractOf(this.#subject),
      driverConfig: this.#subject.config,
      ...(mode === 'explicit' ? explicit : {}),
      ...changes,
    })
  }

  /** One for each mode that the driver declares. */
  declared(changes: Partial<InjectorContext> = {}): readonly InjectorContext[] {
    return this.#subject.driver.capabilities.modes.map((mode) => this.of(mode, changes))
  }

  #system(): InjectorContext['podOS'] {
    const { operatingSystems } = this.#subject.driver.capabilities
    return operatingSystems.includes('linux') ? 'linux' : (operatingSystems[0] ?? 'linux')
  }
}

/** Freezes everything that is data; signals are none. */
export function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal) return value
  for (const member of Object.values(value)) deepFrozen(member)
  return Object.freeze(value)
}

/** The same data with the members of every object in another order. */
export function reordered<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal) return value
  // The same type, since only the order of members differs.
  if (Array.isArray(value)) return value.map((item: unknown) => reordered(item)) as T
  const members = Object.entries(value).map(([name, member]) => [name, reordered(member as unknown)] as const)
  return Object.fromEntries(members.reverse()) as T
}

function podWith(text: string): Readonly<Record<string, JsonValue>> {
  return {
    metadata: { name: 'books-0', namespace: 'shop', labels: { app: text }, annotations: { 'example.com/note': text } },
    spec: {
      serviceAccountName: 'books.v2',
      containers: [
        {
          name: 'books',
          image: text,
          command: [text],
          env: [
            { name: 'NOTE', value: text },
            { name: 'PASSWORD', value: WORKLOAD_SECRET },
          ],
        },
      ],
    },
  }
}

function probesWith(text: string): InjectorContext['originalHealthProbes'] {
  return [
    {
      container: 'books',
      kind: 'liveness',
      type: 'http',
      port: 8080,
      path: `/${text}`,
      headers: [{ name: 'x-note', value: text }],
      timeoutMs: 1_000,
    },
    { container: 'books', kind: 'readiness', type: 'grpc', port: 8081, service: text, timeoutMs: 1_000 },
  ]
}
