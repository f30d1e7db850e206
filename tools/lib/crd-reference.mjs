import { originOf } from './field-origins.mjs'

/** @typedef {import('./mesh-schemas.mjs').MeshSchemas} MeshSchemas */
/** @typedef {import('../../packages/kubernetes/src/crd/custom-resource-definition.js').CustomResourceDefinition} Definition */
/** @typedef {import('../../packages/kubernetes/src/crd/structural-schema.js').StructuralSchema} Schema */
/** @typedef {{ readonly path: string, readonly schema: Schema, readonly required: boolean }} Field */

const introduction = `# Custom resources

All kinds that the mesh reads from an API server, with all fields. \`osm-bootstrap\` applies their definitions, which
are in [packages/bootstrap/crds](../../packages/bootstrap/crds) too.

- **Type** is the type that the mesh accepts; \`*\` marks a required field. For some fields, the API server accepts more values,
  as with the definitions of OSM and osm-edge; these fields are listed below each table. Their invalid values are reported in
  the conditions of the object.
- **Default** is the value of an absent field. **stored** means that the API server writes the default into the object, as in OSM.
- **From** is the product that introduced the field; OSM means release 1.2.

\`kubectl get osm\` lists the objects of all kinds of the mesh, \`kubectl get smi\` those of SMI.

This page is generated from the schemas in packages/core/src/spec by \`npm run check -- crds --fix\`; change the schemas,
not the page.
`

const statusIntroduction = `## Status

Every kind has a status, written by the leading controller. Fields that other programs wrote are kept. Conditions:

- \`Accepted\`: the mesh uses the object. If not, \`reason\` is an [error code](errors.md).
- \`Programmed\`: every connected sidecar that uses the object has acknowledged it.
- \`RestartRequired\`, on a MeshConfig only: some settings take effect after a restart of the control plane.
`

const providersIntroduction = `## Kinds of endpoints providers

Kinds of [endpoints providers](../guides/clouds.md). The chart installs the kinds of providers that are in \`osm.endpointsProviders\`. An object adds endpoints to the named
Service in its own namespace.
`

const providerStatus = `Their status, written by the leading controller:

- \`Accepted\`: the object is valid, and its provider uses it. If not, \`reason\` is an [error code](errors.md).
- \`Resolved\`: all selected resources were found. If not, \`reason\` is one [of the provider](../guides/clouds.md#what-can-go-wrong).
- \`Stale\`: the last good answer stays in force, because no newer one is available.
- \`instances\`, \`addresses\` (16 at most) and \`lastResolvedTime\` contain the result and its time.
`

/** @param {import('@osm-ts/endpoints-api').ResourceKind} kind */
function renderProviderKind({ group, version, kind, plural, specSchema }) {
  /** @type {Schema} every keyword here is one of OpenAPI's too */
  const schema = JSON.parse(JSON.stringify(specSchema))
  return [
    `### ${kind}\n`,
    `- \`kubectl get ${plural}\`; group \`${group}\`; namespaced; \`${version}\`\n`,
    table(
      ['Field', 'Type', 'Meaning'],
      fieldsOf(schema, '').map(({ path, schema: field, required }) => [
        `\`${path}\`${required ? ' \\*' : ''}`,
        typeOf(field),
        meaningOf(field),
      ]),
    ),
  ].join('\n')
}

/**
 * @param {MeshSchemas} schemas
 * @returns {string} docs/reference/crds.md
 */
export function renderCrdReference(schemas) {
  const definitions = schemas.customResourceDefinitions()
  const status = statusFields(definitions[0])
  const sections = definitions.map((definition) => renderKind(schemas, definition, status))
  const ofProviders = [schemas.azureResource, schemas.awsResource].map((kind) => renderProviderKind(kind))
  const providers = [providersIntroduction, ...ofProviders, providerStatus]
  return [introduction, ...sections, statusIntroduction, renderFields(status), ...providers, ''].join('\n')
}

/**
 * @param {MeshSchemas} schemas
 * @param {Definition} definition
 * @param {readonly Field[]} commonStatus
 */
function renderKind({ kindDefinitions, adjustmentsOf, adjustedPaths }, { spec }, commonStatus) {
  const { kind, plural, shortNames = [] } = spec.names
  const adjustment = adjustmentsOf(kind)
  const known = new Set(commonStatus.map(({ path }) => path))
  const ownStatus = statusFields({ spec }).filter(({ path }) => !known.has(path))
  /** @type {Schema} the mesh's own schema, of which every keyword here is one of OpenAPI's too */
  const meshSchema = JSON.parse(JSON.stringify(kindDefinitions[kind].spec))
  const rows = fieldsOf(meshSchema, '').map(({ path, schema, required }) => [
    `\`${path}\`${required && schema.default === undefined ? ' \\*' : ''}`,
    typeOf(schema),
    defaultOf(schema, adjustment(path)?.with),
    meaningOf(schema),
    originOf(kind, path),
  ])
  const looser = adjustedPaths(kind).filter((path) => adjustment(path)?.without !== undefined)
  return [
    `## ${kind}\n`,
    `${meaningOf(meshSchema)}\n`,
    `- \`kubectl get ${[plural, ...shortNames].join('`, `')}\`; group \`${spec.group}\`; ${spec.scope.toLowerCase()}; from ${originOf(kind, '')}`,
    `- ${versionsOf(spec.versions)}`,
    `- columns ${(spec.versions[0]?.additionalPrinterColumns ?? []).map(({ name }) => name).join(', ')}\n`,
    table(['Field', 'Type', 'Default', 'Meaning', 'From'], rows),
    ...(looser.length === 0 ? [] : [`Checked by the mesh alone: ${looser.map((path) => `\`${path}\``).join(', ')}.\n`]),
    ...(ownStatus.length === 0 ? [] : [`Status besides the [common one](#status):\n`, renderFields(ownStatus)]),
  ].join('\n')
}

/** @param {Definition['spec']['versions']} versions */
function versionsOf(versions) {
  const words = versions.map(({ name, served, storage, deprecated }) => {
    const state = storage ? 'stored' : served ? 'served' : 'not served'
    return `\`${name}\` ${state}${deprecated === true ? ', deprecated' : ''}`
  })
  return words.join('; ')
}

/** @param {Pick<Definition, 'spec'> | undefined} definition */
function statusFields(definition) {
  const status = definition?.spec.versions[0]?.schema.openAPIV3Schema.properties?.status
  return status === undefined ? [] : fieldsOf(status, '').map((field) => ({ ...field, path: `status.${field.path}` }))
}

/** @param {readonly Field[]} fields */
function renderFields(fields) {
  const rows = fields.map(({ path, schema, required }) => [
    `\`${path}\`${required ? ' \\*' : ''}`,
    typeOf(schema),
    meaningOf(schema),
  ])
  return table(['Field', 'Type', 'Meaning'], rows)
}

/**
 * Every field below a schema, each right after what it belongs to.
 * @param {Schema} schema
 * @param {string} path
 * @returns {Field[]}
 */
function fieldsOf(schema, path) {
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`
    const required = schema.required?.includes(name) === true
    return [{ path: at, schema: member, required }, ...fieldsOf(member, at)]
  })
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`)
  const values = schema.additionalProperties === undefined ? [] : fieldsOf(schema.additionalProperties, `${path}{}`)
  return [...members, ...items, ...values]
}

/**
 * Fields of a schema that hold their own value, as paths.
 * @param {object} schema one of the mesh
 * @returns {readonly string[]}
 */
export function fieldPaths(schema) {
  const fields = fieldsOf(schema, '')
  return fields.flatMap((field) => (fields.some(({ path }) => isWithin(path, field.path)) ? [] : [field.path]))
}

/**
 * @param {string} path
 * @param {string} above
 */
function isWithin(path, above) {
  return path.startsWith(above) && /^[.[{]/.test(path.slice(above.length))
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (schema.enum !== undefined) return `one of ${schema.enum.map((word) => `\`${JSON.stringify(word)}\``).join(', ')}`
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}${countOf(schema)}`
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`
  if (schema.properties === undefined && schema['x-kubernetes-preserve-unknown-fields'] === true) return 'free object'
  return `${schema.format ?? schema.type ?? 'anything'}${rangeOf(schema)}`
}

/** @param {Schema} schema */
function rangeOf({ minimum, maximum }) {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum}–${maximum}`
  if (minimum !== undefined) return ` ≥ ${minimum}`
  return maximum === undefined ? '' : ` ≤ ${maximum}`
}

/** @param {Schema} schema */
function countOf({ minItems, maxItems }) {
  if (minItems !== undefined && minItems === maxItems) return `, exactly ${minItems}`
  if (minItems !== undefined) return `, at least ${minItems}`
  return maxItems === undefined ? '' : `, at most ${maxItems}`
}

/**
 * @param {Schema} schema
 * @param {Schema | undefined} stored what the API server has besides
 */
function defaultOf(schema, stored) {
  if (stored?.default !== undefined) return `\`${JSON.stringify(stored.default)}\`, stored`
  return schema.default === undefined ? '–' : `\`${JSON.stringify(schema.default)}\``
}

/** @param {Schema} schema */
function meaningOf({ description = '', items }) {
  return (description === '' ? (items?.description ?? '') : description).replaceAll('|', '\\|')
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function table(head, rows) {
  if (rows.length === 0) return ''
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}
