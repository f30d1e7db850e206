import type { Spec } from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'

import type { InjectorErrorCode } from '../error-codes.js'
import { isList, isObject, type JsonObject, withMembers } from '../json/json.js'

/** The description is what a message says that a value is not: `is not a list of containers`. */
function optionalList<S extends TSchema>(items: S, description: string) {
  return Type.Optional(Type.Array(items, { description: `a list of ${description}` }))
}

function object<P extends TProperties>(members: P) {
  return Type.Object(members, { description: 'an object' })
}

const text = Type.String({ description: 'text' })
const optionalText = Type.Optional(text)
const optionalNumber = Type.Optional(Type.Number({ description: 'a number' }))
const optionalTexts = Type.Optional(
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: text,
    description: 'an object of texts',
  }),
)
const port = Type.Optional(
  Type.Unsafe<number | string>({ type: ['integer', 'string'], description: 'a number or name of a port' }),
)
const users = Type.Optional(object({ runAsUser: optionalNumber }))

const httpHandler = object({
  host: optionalText,
  path: optionalText,
  port,
  scheme: optionalText,
  httpHeaders: optionalList(object({ name: optionalText, value: optionalText }), 'headers'),
})
const tcpHandler = object({ host: optionalText, port })
const probe = Type.Optional(
  object({
    httpGet: Type.Optional(httpHandler),
    tcpSocket: Type.Optional(tcpHandler),
    grpc: Type.Optional(object({ port, service: optionalText })),
    timeoutSeconds: optionalNumber,
  }),
)
const hook = Type.Optional(object({ httpGet: Type.Optional(httpHandler), tcpSocket: Type.Optional(tcpHandler) }))

const container = Type.Object(
  {
    name: Type.String({ minLength: 1, description: 'a name of a container' }),
    ports: optionalList(object({ name: optionalText, containerPort: optionalNumber, protocol: optionalText }), 'ports'),
    securityContext: users,
    volumeMounts: optionalList(object({ name: optionalText }), 'volume mounts'),
    lifecycle: Type.Optional(object({ postStart: hook, preStop: hook })),
    livenessProbe: probe,
    readinessProbe: probe,
    startupProbe: probe,
  },
  { description: 'a container with a name' },
)

const volumeSource = object({
  podCertificate: Type.Optional(object({ signerName: optionalText })),
  downwardAPI: Type.Optional(
    object({
      items: optionalList(object({ fieldRef: Type.Optional(object({ fieldPath: optionalText })) }), 'files'),
    }),
  ),
})

const podSchema = Type.Object(
  {
    metadata: Type.Optional(
      object({ name: optionalText, generateName: optionalText, labels: optionalTexts, annotations: optionalTexts }),
    ),
    spec: Type.Object(
      {
        containers: Type.Array(container, { minItems: 1, description: 'a list of containers' }),
        initContainers: optionalList(container, 'containers'),
        ephemeralContainers: optionalList(container, 'containers'),
        volumes: optionalList(
          object({
            name: optionalText,
            secret: Type.Optional(object({ secretName: optionalText })),
            projected: Type.Optional(object({ sources: optionalList(volumeSource, 'sources of a volume') })),
          }),
          'volumes',
        ),
        hostNetwork: Type.Optional(Type.Boolean({ description: 'true or false' })),
        serviceAccountName: optionalText,
        securityContext: users,
        os: Type.Optional(object({ name: optionalText })),
        nodeSelector: optionalTexts,
        restartPolicy: optionalText,
        terminationGracePeriodSeconds: optionalNumber,
        dnsPolicy: optionalText,
        dnsConfig: Type.Optional(
          object({
            nameservers: optionalList(text, 'addresses'),
            searches: optionalList(text, 'domains'),
            options: optionalList(object({ name: optionalText, value: optionalText }), 'options'),
          }),
        ),
      },
      { description: 'a specification of a pod' },
    ),
  },
  { description: 'a pod' },
)

const headSchema = Type.Object(
  {
    metadata: podSchema.properties.metadata,
    spec: Type.Optional(object({ hostNetwork: podSchema.properties.spec.properties.hostNetwork })),
  },
  { description: 'a pod' },
)

/** What decides whether a pod gets a sidecar. */
export type PodHead = Spec<typeof headSchema>
/** A pod, as far as injection reads it. Its other members are there as well, and stay as they came. */
export type Pod = Spec<typeof podSchema>
/** `spec` of a {@link Pod}. */
export type PodSpec = Pod['spec']
/** A container of any list of a {@link Pod}. */
export type Container = PodSpec['containers'][number]
/** A probe of a {@link Container}. */
export type Probe = NonNullable<Container['livenessProbe']>

/** What pods are checked against. The schemas are ours, and a test holds them against the schema of schemas, which takes longer to compile than both. */
export const podSchemas = { whole: podSchema, head: headSchema } as const

/** Gives pods their type. What the API server has decoded always has the shape; files of users may not. */
export class PodReader {
  // Compiled before the first pod comes, which would wait for it.
  readonly #isPod = compiled<Pod>(podSchemas.whole)
  readonly #isHead = compiled<PodHead>(podSchemas.head)

  /**
   * Reads a pod. Members that are null are left out, as the API server does.
   *
   * @throws OsmError `OSM_INJECT_POD` that names the member which is something else than it should be
   */
  read(pod: JsonObject): Pod {
    return checked(pod, podSchema, this.#isPod)
  }

  /**
   * Reads what decides whether a pod gets a sidecar, whatever else is in it.
   *
   * @throws OsmError as {@link read} does
   */
  readHead(pod: JsonObject): PodHead {
    return checked(pod, headSchema, this.#isHead)
  }
}

function compiled<T>(schema: TSchema): ValidateFunction<T> {
  // Polishing the generated code takes longer than making it.
  const code = { optimize: false }
  return new Ajv({ verbose: true, allowUnionTypes: true, validateSchema: false, code }).compile<T>(schema)
}

function checked<T>(pod: JsonObject, schema: TSchema, is: ValidateFunction<T>): T {
  const given: JsonValue = withoutNulls(pod, schema)
  if (is(given)) return given
  const [error] = is.errors ?? []
  throw new OsmError<InjectorErrorCode>('OSM_INJECT_POD', error === undefined ? 'is not a pod' : described(error))
}

function described({ keyword, instancePath, params, parentSchema, schema }: ErrorObject): string {
  const missing = keyword === 'required' ? String((params as { missingProperty: unknown }).missingProperty) : undefined
  const path = missing === undefined ? instancePath : `${instancePath}/${missing}`
  const members = (parentSchema as TSchema | undefined)?.properties as Readonly<Record<string, TSchema>> | undefined
  const expected = missing === undefined ? (parentSchema as TSchema | undefined) : members?.[missing]
  return `${shownPath(path)} is not ${expected?.description ?? String(schema)}`
}

/** `/spec/containers/0/name` as `spec.containers[0].name`. */
function shownPath(pointer: string): string {
  const shown = pointer
    .slice(1)
    .split('/')
    .map((member) => (/^\d+$/.test(member) ? `[${member}]` : `.${member.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
  return shown.replace(/^\./, '')
}

/** The same value where no member that the schema knows is null. */
function withoutNulls<T extends JsonValue>(value: T, { items, properties }: TSchema): T {
  // A pod may have 100,000 values: nothing is made for those that stay as they are.
  if (isList(value)) {
    if (items === undefined) return value
    let list: JsonValue[] | undefined
    for (const [at, item] of value.entries()) {
      const next = withoutNulls(item, items as TSchema)
      if (next === item) continue
      list ??= Array.from<JsonValue>(value)
      list[at] = next
    }
    return (list as unknown as T | undefined) ?? value
  }
  if (!isObject(value)) return value
  const members = (properties ?? {}) as TProperties
  let changed: Record<string, JsonValue | undefined> | undefined
  for (const name of Object.keys(members)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined
    const next = member === null || member === undefined ? undefined : withoutNulls(member, members[name] as TSchema)
    if (next !== member) (changed ??= {})[name] = next
  }
  return changed === undefined ? value : (withMembers(value, changed) as T)
}
