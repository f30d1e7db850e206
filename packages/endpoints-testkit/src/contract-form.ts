import { isIP } from 'node:net'

import { ENDPOINTS_CONTRACT_VERSION, type EndpointsPlugin, type JsonObject } from '@osm-ts/endpoints-api'
import { Ajv2020 } from 'ajv/dist/2020.js'

const text = { type: 'string', maxLength: 512 }
const label = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' }
const subdomain = { type: 'string', maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' }
const word = { type: 'string', pattern: '^[A-Za-z]\\w{0,62}$' }
const count = { type: 'integer', minimum: 0 }
const object = (properties: JsonObject, ...required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
})
const list = (items: JsonObject, maxItems: number, minItems = 0): JsonObject => ({
  type: 'array',
  items,
  maxItems,
  minItems,
})

const instance = object(
  {
    id: { ...text, minLength: 1 },
    addresses: list({ type: 'string', format: 'ip' }, 8, 1),
    ready: { type: 'boolean' },
    serviceAccount: subdomain,
    weight: { type: 'integer', minimum: 0, maximum: 1000 },
    ports: list(object({ name: text, port: { type: 'integer', minimum: 1, maximum: 65_535 } }, 'name', 'port'), 32),
    locality: object({ region: text, zone: text, subZone: text }, 'region', 'zone', 'subZone'),
    sidecar: object({ class: label }),
  },
  'id',
  'addresses',
  'ready',
)
const answer = object(
  {
    services: list(
      object(
        {
          service: object({ namespace: label, name: label }, 'namespace', 'name'),
          instances: list({ ...instance, dependentRequired: { sidecar: ['serviceAccount'] } }, 1_000),
          stale: text,
        },
        'service',
        'instances',
      ),
      1_000,
    ),
  },
  'services',
)
const status = object(
  {
    observedGeneration: count,
    instances: count,
    addresses: list({ type: 'string', format: 'ip' }, 16),
    resolvedAt: count,
    stale: { type: 'boolean' },
    conditions: list(
      object(
        {
          type: { ...word, not: { enum: ['Accepted', 'Stale'] } },
          status: { enum: ['True', 'False', 'Unknown'] },
          reason: word,
          message: { type: 'string' },
        },
        'type',
        'status',
        'reason',
        'message',
      ),
      8,
    ),
  },
  'observedGeneration',
  'instances',
  'conditions',
)
const kind = object(
  {
    group: { type: 'string', pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$', not: { pattern: '(^|\\.)k8s\\.io$' } },
    version: { type: 'string', pattern: '^v[0-9]+((alpha|beta)[0-9]+)?$' },
    kind: { type: 'string', pattern: '^[A-Z][A-Za-z0-9]{0,62}$' },
    plural: { type: 'string', pattern: '^[a-z][a-z0-9]{0,62}$' },
    specSchema: { type: 'object' },
  },
  'group',
  'version',
  'kind',
  'plural',
  'specSchema',
)
const declaration = object(
  {
    name: label,
    contractVersion: { const: ENDPOINTS_CONTRACT_VERSION },
    resourceKinds: list(kind, 8),
    settingsSchema: { type: 'object' },
  },
  'name',
  'contractVersion',
  'resourceKinds',
  'settingsSchema',
)

/** What is wrong with a declaration, each with its field: names, kinds, and schemas that do not compile. */
export function declarationFaults({
  name,
  contractVersion,
  resourceKinds,
  settingsSchema,
}: EndpointsPlugin): readonly string[] {
  const faults = schemaFaults(declaration, { name, contractVersion, resourceKinds, settingsSchema }, 'plugin')
  return faults.length > 0
    ? faults
    : [
        ...uncompiled(settingsSchema, 'settingsSchema'),
        ...resourceKinds.flatMap(({ kind: of, specSchema }) => uncompiled(specSchema, `specSchema of ${of}`)),
      ]
}

/** What is wrong with an answer, each with its field. */
export function answerFaults(value: unknown): readonly string[] {
  const faults = schemaFaults(answer, value, 'answer')
  if (faults.length > 0) return faults
  const { services } = value as { readonly services: readonly Service[] } // checked just now
  const names = services.map(({ service: { namespace, name } }) => `${namespace}/${name}`)
  return [
    ...twice(names).map((name) => `answer.services: ${name} is there twice`),
    ...services.flatMap(({ instances }, index) =>
      twice(instances.map(({ id }) => id)).map((id) => `answer.services.${index}.instances: id ${id} is there twice`),
    ),
  ]
}

/** What is wrong with the status of an object, each with its field. */
export function statusFaults(value: unknown): readonly string[] {
  return schemaFaults(status, value, 'status')
}

/** What in a value does not conform to a JSON Schema, each with its field. */
export function schemaFaults(schema: JsonObject, value: unknown, root: string): readonly string[] {
  const validate = compiler().compile(schema)
  if (validate(value)) return []
  return (validate.errors ?? [])
    .slice(0, 20)
    .map(({ instancePath, message }) => `${root}${instancePath.replaceAll('/', '.')} ${message ?? 'does not conform'}`)
}

interface Service {
  readonly service: { readonly namespace: string; readonly name: string }
  readonly instances: readonly { readonly id: string }[]
}

function compiler(): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: false, code: { optimize: false } })
  return ajv.addFormat('ip', (value: string) => isIP(value) !== 0 && !value.includes('%'))
}

function uncompiled(schema: JsonObject, what: string): readonly string[] {
  try {
    compiler().compile(schema)
    return []
  } catch (error) {
    return [`${what} is not a JSON Schema: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function twice(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
