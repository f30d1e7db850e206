import { fromBinary, type JsonValue, type Registry, toJson } from '@bufbuild/protobuf'

import type { Credential } from '@osm-ts/driver-api'
import { canonicalJson } from '@osm-ts/driver-api/policy'
import type { Judge, StandIn, StandInSession } from '@osm-ts/driver-testkit'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import type { DeltaDiscoveryResponse } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'

import { KEY_FILE_METADATA } from '../src/bootstrap/text-with-files.js'
import { messageRegistry } from '../src/resources/message-registry.js'
import { typeUrls, type XdsType, xdsTypeOf } from '../src/server/xds-types.js'
import { XdsClient } from './xds/xds-client.js'

const schemas = {
  cluster: ClusterSchema,
  endpoints: ClusterLoadAssignmentSchema,
  listener: ListenerSchema,
  extension: TypedExtensionConfigSchema,
  route: RouteConfigurationSchema,
  secret: SecretSchema,
} as const

type Resources = Readonly<Record<XdsType, ReadonlyMap<string, JsonValue>>>

const none: Resources = {
  cluster: new Map(),
  endpoints: new Map(),
  listener: new Map(),
  extension: new Map(),
  route: new Map(),
  secret: new Map(),
}

/** Types whose resources are requested by name, what names others first. */
const namedTypes = ['endpoints', 'extension', 'route', 'secret'] as const
type NamedType = (typeof namedTypes)[number]

/** Speaks the delta form of ADS as Envoy does: subscribes to what its clusters, listeners and extensions refer to, and answers every response. */
export const standIn: StandIn = {
  connect: async ({ port, roots, credential, signal }, judge) =>
    new Session({ port, roots, credential }, judge, signal),
}

class Session implements StandInSession {
  messages = 0
  credentials = ''
  readonly ended: Promise<void>
  readonly #client: XdsClient
  readonly #stream: ReturnType<XdsClient['delta']>
  readonly #judge: Judge
  readonly #registry: Registry = messageRegistry()
  readonly #asked: Record<NamedType, Set<string>> = {
    endpoints: new Set(),
    extension: new Set(),
    route: new Set(),
    secret: new Set(),
  }
  #resources = none

  constructor(to: { port: number; roots: string; credential: Credential }, judge: Judge, signal: AbortSignal) {
    this.#judge = judge
    this.#client = new XdsClient(to)
    this.#stream = this.#client.delta()
    this.ended = this.#stream.ended.then(() => undefined)
    void this.#read()
    signal.addEventListener('abort', () => this.#client.close(), { once: true })
    // As the bootstrap configuration has it: the first request says that there is a key.
    const node = { metadata: { [KEY_FILE_METADATA]: '/etc/sidecar/sds_key.pem' } }
    for (const type of ['cluster', 'listener'] as const) this.#stream.send({ typeUrl: typeUrls[type], node })
  }

  get configuration(): string {
    return textOf(this.#resources)
  }

  async close(): Promise<void> {
    this.#stream.call.cancel()
    await this.ended
    this.#client.close()
  }

  async #read(): Promise<void> {
    try {
      for (;;) this.#answer(await this.#stream.next())
    } catch {
      // It has ended, which `ended` tells.
    }
  }

  #answer(response: DeltaDiscoveryResponse): void {
    const type = xdsTypeOf(response.typeUrl)
    if (type === undefined) throw new Error(`a response of type ${response.typeUrl}`)
    this.messages += 1
    const resources = { ...this.#resources, [type]: this.#changed(type, response) }
    const words = this.#judge(textOf(resources))
    if (words === undefined) this.#resources = resources
    this.#subscribe()
    const refusal = words === undefined ? {} : { errorDetail: { code: 13, message: words } }
    this.#stream.send({ typeUrl: response.typeUrl, responseNonce: response.nonce, ...refusal })
  }

  #changed(type: XdsType, response: DeltaDiscoveryResponse): ReadonlyMap<string, JsonValue> {
    const found = new Map(this.#resources[type])
    for (const { name, resource } of response.resources) {
      const json = toJson(schemas[type], fromBinary(schemas[type], resource?.value ?? new Uint8Array()), {
        registry: this.#registry,
      })
      if (type === 'secret') this.credentials += pemsOf(json).join('\n')
      found.set(name, json)
    }
    for (const name of response.removedResources) found.delete(name)
    return found
  }

  /** As Envoy does, before it answers. */
  #subscribe(): void {
    const wanted = wantedBy(this.#resources)
    for (const type of namedTypes) {
      const asked = this.#asked[type]
      const subscribe = [...wanted[type]].filter((name) => !asked.has(name))
      const unsubscribe = [...asked].filter((name) => !wanted[type].has(name))
      for (const name of unsubscribe) this.#forget(type, name)
      this.#asked[type] = wanted[type]
      if (subscribe.length + unsubscribe.length > 0)
        this.#stream.send({
          typeUrl: typeUrls[type],
          resourceNamesSubscribe: subscribe,
          resourceNamesUnsubscribe: unsubscribe,
        })
    }
  }

  #forget(type: NamedType, name: string): void {
    const left = new Map(this.#resources[type])
    left.delete(name)
    this.#resources = { ...this.#resources, [type]: left }
  }
}

/** Names that clusters, listeners and the extensions of these refer to. */
function wantedBy({ cluster, listener, extension }: Resources): Record<NamedType, Set<string>> {
  const wanted = {
    endpoints: new Set<string>(),
    extension: new Set<string>(),
    route: new Set<string>(),
    secret: new Set<string>(),
  }
  for (const [name, value] of cluster) {
    const { type, edsClusterConfig } = value as { type?: string; edsClusterConfig?: { serviceName?: string } }
    if (type === 'EDS') wanted.endpoints.add(edsClusterConfig?.serviceName ?? name)
  }
  visit([...listener.values()], ({ configDiscovery, name }) => {
    if (configDiscovery !== undefined && typeof name === 'string') wanted.extension.add(name)
  })
  const extensions = [...extension].flatMap(([name, value]) => (wanted.extension.has(name) ? [value] : []))
  visit([...cluster.values(), ...listener.values(), ...extensions], (member) => {
    const { rds, sdsConfig, name } = member
    if (typeof rds === 'object') wanted.route.add((rds as { routeConfigName: string }).routeConfigName)
    if (sdsConfig !== undefined && typeof name === 'string') wanted.secret.add(name)
  })
  return wanted
}

function visit(value: JsonValue, see: (member: Readonly<Record<string, JsonValue>>) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) see(value)
  for (const member of Object.values(value)) visit(member, see)
}

/** Certificates and keys within a secret. */
function pemsOf(secret: JsonValue): readonly string[] {
  const found: string[] = []
  visit(secret, ({ inlineBytes, inlineString }) => {
    if (typeof inlineBytes === 'string') found.push(Buffer.from(inlineBytes, 'base64').toString())
    if (typeof inlineString === 'string') found.push(inlineString)
  })
  return found
}

/** Certificates and keys are replaced by a word: they differ from run to run. */
function textOf(resources: Resources): string {
  if (resources.cluster.size === 0 && resources.listener.size === 0) return ''
  const shown = Object.fromEntries(Object.entries(resources).map(([type, found]) => [type, Object.fromEntries(found)]))
  return canonicalJson({ ...shown, secret: withoutPems(shown.secret ?? {}) })
}

function withoutPems(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutPems)
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => [
    name,
    name === 'inlineBytes' || name === 'inlineString' ? 'PEM' : withoutPems(member),
  ])
  return Object.fromEntries(members)
}
