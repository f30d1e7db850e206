import type { CertificateManager, Clock, Problem, ProcessLogger, Random } from '@osm-ts/core'
import {
  type ClusterView,
  instanceLabel,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  meshObjectLabels,
  resourceTypes,
  WorkQueue,
} from '@osm-ts/kubernetes'
import { isOsmError } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { ControllerErrorCode } from '../errors.js'
import { joinLoops } from '../supervision.js'
import {
  isOf,
  isOfFormerMesh,
  outsideLabel,
  renewalOf,
  renewalTime,
  secretManifest,
  type WantedCertificate,
} from './outside-certificate.js'

/** What {@link OutsideCertificates} are kept with. */
export interface OutsideCertificatesOptions {
  readonly api: KubernetesApi
  readonly cluster: Pick<ClusterView, 'namespaces' | 'isEnrolled' | 'onClusterChange'>
  readonly certificates: Pick<CertificateManager, 'issueCertificate' | 'trustBundle' | 'subscribe'>
  /** What objects request now. */
  readonly wanted: () => readonly WantedCertificate[]
  /** Calls the listener when that may be something else. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly meshName: string
  readonly osmNamespace: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: ProcessLogger
}

/** Secrets that the control plane may write in its own namespace, where it has no right to look at others. The first two are those of OSM's documents. */
const ownNamespaceSecrets: readonly string[] = [
  'osm-nginx-client-cert',
  'osm-contour-envoy-client-cert',
  'osm-ingress-client-cert',
]

/** How often Secrets are checked without a reason: others may have changed or deleted them. */
const SWEEP_MS = 60_000
/** Time that the RoleBinding of a namespace, without which nothing may be read there, gets to be written. */
const SETTLE_MS = 500
/** Certificates that live for seconds are not replaced more often than this. */
const LEAST_MS = 500
const { Secret } = resourceTypes

/**
 * Issues certificates to callers outside the mesh into Secrets, replaces them in time, and removes those that no one requests any more. What is there is read from
 * the Secret itself, so that a new leader goes on where the last one was. One instance at a time: the leader.
 */
export class OutsideCertificates {
  readonly #options: OutsideCertificatesOptions
  readonly #problems = new Map<string, readonly Problem[]>()
  readonly #listeners = new Listeners()

  constructor(options: OutsideCertificatesOptions) {
    this.#options = options
  }

  /** What keeps certificates from being issued. */
  problems(): readonly Problem[] {
    return [...this.#problems.values()].flat()
  }

  /** Calls the listener when {@link problems} differ. The result ends it. */
  onProblems(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Keeps them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, clock, random, subscribe, certificates, logger } = this.#options
    const queue = new WorkQueue({
      handle: async (namespace, own) => {
        const next = await this.#sweep(namespace, own)
        if (next !== undefined) queue.addAfter(namespace, next)
      },
      concurrency: 2,
      clock,
      random,
      onFault: (namespace, error, failures) => {
        // Before the RoleBinding of a new namespace is there, nothing may be read.
        const isEarly = isKubernetesError(error) && error.status === 403 && failures < 5
        if (!isEarly && (failures === 1 || failures === 5))
          logger.warn(
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, namespace, reason: String(error) },
            'certificates of callers outside the mesh cannot be looked after',
          )
      },
    })
    const addAll = (): void => {
      for (const namespace of this.#namespaces()) queue.addAfter(namespace, SETTLE_MS)
    }
    let asked = this.#options.wanted()
    const addChanged = (): void => {
      const before = asked
      asked = this.#options.wanted()
      for (const namespace of namespacesOfChanges(before, asked)) queue.add(namespace)
    }
    const ends = [
      subscribe(addChanged),
      cluster.onClusterChange((change) => {
        if (change.of === 'namespace') queue.addAfter(change.scope.namespace, SETTLE_MS)
      }),
    ]
    const roots = async (): Promise<void> => {
      for await (const { type } of certificates.subscribe(signal))
        if (type === 'rootChanged' || type === 'missed') addAll()
    }
    try {
      addAll()
      await joinLoops(signal, [queue.run(signal), roots()])
    } finally {
      for (const end of ends) end()
      this.#problems.clear()
    }
  }

  /** Where Secrets may be: the namespaces of the mesh, that of the control plane, and those that somebody names. */
  #namespaces(): ReadonlySet<string> {
    const { cluster, osmNamespace, wanted } = this.#options
    return new Set([
      osmNamespace,
      ...cluster.namespaces().map(({ namespace }) => namespace),
      ...wanted().map(({ secret }) => secret.namespace),
    ])
  }

  /** Looks after a namespace once. Gives the time until it has to be looked at again; undefined: not before something happens. */
  async #sweep(namespace: string, signal: AbortSignal): Promise<number | undefined> {
    const wanted = this.#options.wanted().filter(({ secret }) => secret.namespace === namespace)
    const problems: Problem[] = []
    const usable = wanted.filter((each) => {
      const fault = this.#placeFault(each)
      if (fault !== undefined) problems.push(problemOf(each, fault))
      return fault === undefined
    })
    if (this.#isOurs(namespace)) await this.#removeOthers(namespace, usable, signal)
    let next: number | undefined
    for (const each of usable) {
      const result = await this.#keep(each, signal)
      if (typeof result === 'string') problems.push(problemOf(each, result))
      const time = typeof result === 'string' ? SWEEP_MS : Math.min(result, SWEEP_MS)
      next = Math.min(next ?? time, time)
    }
    this.#report(namespace, problems)
    return next
  }

  #isOurs(namespace: string): boolean {
    const { cluster, osmNamespace } = this.#options
    return namespace === osmNamespace || cluster.isEnrolled(namespace)
  }

  /** Why nothing can be written there. */
  #placeFault({ object, secret: { namespace, name } }: WantedCertificate): string | undefined {
    const { cluster, osmNamespace } = this.#options
    if (object.kind !== 'MeshConfig' && namespace !== object.namespace)
      return `must be in ${object.namespace}, the namespace of the object, which may write nowhere else`
    if (namespace === osmNamespace)
      return ownNamespaceSecrets.includes(name)
        ? undefined
        : `may be one of ${ownNamespaceSecrets.join(', ')} in ${osmNamespace}, where the control plane has no right to others; rename it, or put it into a namespace of the mesh`
    return cluster.isEnrolled(namespace)
      ? undefined
      : `is in ${namespace}, which is not a namespace of the mesh, so that the control plane may not write there; add the namespace to the mesh`
  }

  /** Gives the time until it has to be looked at again, or what is wrong. */
  async #keep(wanted: WantedCertificate, signal: AbortSignal): Promise<number | string> {
    const { api, certificates, clock, meshName, logger } = this.#options
    const trusted = certificates.trustBundle('workload')
    const roots = trusted.join('\n')
    const present = await api.get(Secret, wanted.secret, signal)
    if (present !== undefined && !isOf(present, wanted) && !isOfFormerMesh(present, wanted, trusted))
      return `belongs to somebody else and is left as it is; choose another name, or delete it`
    const due = present === undefined ? 0 : renewalTime(present, wanted, roots) - clock.now()
    if (due > 0) return Math.max(due, LEAST_MS)
    const issued = await this.#issue(wanted)
    if (typeof issued === 'string') return issued
    const content = { chain: issued.chain, privateKey: issued.privateKey(), roots }
    const manifest = secretManifest(wanted, content, meshObjectLabels(meshName), present?.metadata.resourceVersion)
    const options = { signal, answer: 'metadata' } as const
    if (present === undefined) await api.create(Secret, manifest, options)
    else await api.replace(Secret, manifest, options)
    logger.info({ ...wanted.secret, serialNumber: issued.serialNumber }, 'issued a certificate to a caller outside')
    return Math.max(renewalOf(issued.expiration, wanted) - clock.now(), LEAST_MS)
  }

  async #issue({ names, validityMs }: WantedCertificate) {
    try {
      return await this.#options.certificates.issueCertificate({ kind: 'outside', names }, { validityMs, keep: false })
    } catch (error) {
      // What is wrong with the names stays wrong.
      if (isOsmError(error) && error.code === 'OSM_CERT_REQUEST') return error.message
      throw error
    }
  }

  async #removeOthers(namespace: string, wanted: readonly WantedCertificate[], signal: AbortSignal): Promise<void> {
    const { api, logger } = this.#options
    for (const secret of await this.#labelled(namespace, signal)) {
      const { name, uid } = secret.metadata
      if (wanted.some((each) => each.secret.name === name && isOf(secret, each))) continue
      const removed = await api.delete(Secret, { namespace, name }, { signal, ...(uid === undefined ? {} : { uid }) })
      if (removed) logger.info({ namespace, name }, 'removed a certificate that is no longer requested')
    }
  }

  /** Secrets that hold such certificates of this mesh; nothing of what they hold. */
  async #labelled(namespace: string, signal: AbortSignal): Promise<readonly KubernetesObject[]> {
    const { api, meshName, osmNamespace } = this.#options
    if (namespace === osmNamespace) {
      const found = await Promise.all(
        ownNamespaceSecrets.map((name) => api.get(Secret, { namespace, name }, signal, { answer: 'metadata' })),
      )
      return found.filter(
        (secret) =>
          secret?.metadata.labels?.[outsideLabel] === 'true' && secret.metadata.labels[instanceLabel] === meshName,
      ) as readonly KubernetesObject[]
    }
    const labelSelector = `${outsideLabel}=true,${instanceLabel}=${meshName}`
    const page = await api.list(Secret, { namespace, labelSelector, answer: 'metadata' }, signal)
    return page.items
  }

  #report(namespace: string, problems: readonly Problem[]): void {
    const before = JSON.stringify(this.#problems.get(namespace) ?? [])
    if (problems.length === 0) this.#problems.delete(namespace)
    else this.#problems.set(namespace, problems)
    if (before !== JSON.stringify(problems)) this.#listeners.notify()
  }
}

/** Namespaces of the Secrets that somebody has begun, or ceased, to ask for. */
function namespacesOfChanges(
  before: readonly WantedCertificate[],
  after: readonly WantedCertificate[],
): ReadonlySet<string> {
  const had = new Set(before.map((each) => JSON.stringify(each)))
  const has = new Set(after.map((each) => JSON.stringify(each)))
  const changed = [
    ...before.filter((each) => !has.has(JSON.stringify(each))),
    ...after.filter((each) => !had.has(JSON.stringify(each))),
  ]
  return new Set(changed.map(({ secret }) => secret.namespace))
}

function problemOf({ object, field, secret }: WantedCertificate, fault: string): Problem {
  return {
    code: 'OSM_CONTROLLER_CERTIFICATE' satisfies ControllerErrorCode,
    severity: 'error',
    message: `no certificate is issued: ${secret.namespace}/${secret.name}: ${fault}`,
    object,
    field,
  }
}
