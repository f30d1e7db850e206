import { allKinds, type Kind, type KindDefinition, kindDefinitions } from '@osm-ts/core'
import type { CustomResourceDefinition, DefinedVersion, PrinterColumn } from './custom-resource-definition.js'
import { statusSchema } from './status-schema.js'
import { adjustmentsOf } from './stored-form.js'
import { toStructuralSchema, type StructuralSchema } from './structural-schema.js'

const column = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: 'string',
  jsonPath,
  description,
})
const age: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the object was created.',
}
const status = column('Status', '.status.currentStatus', 'Whether the object is valid and in use.')

/** Columns besides the age. Kinds that are not listed show their status, as most kinds of OSM did. */
const ownColumns: Partial<Record<Kind, readonly PrinterColumn[]>> = {
  TrafficSplit: [column('Service', '.spec.service', 'Apex service of the split.'), status],
  MeshRootCertificate: [
    column('Role', '.spec.role', 'Role of the root in a rotation.'),
    column('State', '.status.state', 'Stage of the rotation that the root is in.'),
  ],
}

/** Versions that are served besides the stored one, because OSM or osm-edge served them. */
const alsoServed: Partial<Record<Kind, readonly string[]>> = {
  MeshConfig: ['v1alpha1'],
  TrafficSplit: ['v1alpha2'],
}

/** Kinds that an API server serves for the mesh: neither those of Kubernetes, nor of the Gateway API, nor of local processes. */
export function customKinds(): readonly Kind[] {
  return allKinds().filter((kind) => {
    const { apiVersion, partial, foreign } = kindDefinitions[kind]
    return !partial && !foreign && !apiVersion.startsWith('standalone.')
  })
}

/** What to apply to an API server so that it serves every kind of the mesh. Sorted by kind; created again by every call. */
export function customResourceDefinitions(): readonly CustomResourceDefinition[] {
  return customKinds().map(define)
}

function define(kind: Kind): CustomResourceDefinition {
  const definition: KindDefinition = kindDefinitions[kind]
  const { apiVersion, plural, shortNames, scope, alsoAccepted } = definition
  const { group } = splitVersion(apiVersion)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/name': 'openservicemesh.io' } },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length === 0 ? {} : { shortNames }),
        categories: group.endsWith('smi-spec.io') ? ['osm', 'smi'] : ['osm'],
      },
      conversion: { strategy: 'None' },
      versions: [apiVersion, ...alsoAccepted].map((version) => defineVersion(kind, definition, version)),
    },
  }
}

function defineVersion(kind: Kind, definition: KindDefinition, apiVersion: string): DefinedVersion {
  const { version: name } = splitVersion(apiVersion)
  const storage = apiVersion === definition.apiVersion
  const served = storage || alsoServed[kind]?.includes(name) === true
  const columns = ownColumns[kind] ?? [status]
  return {
    name,
    served,
    storage,
    ...(kind === 'MeshConfig' && !storage
      ? { deprecated: true, deprecationWarning: `${apiVersion} is deprecated; write ${definition.apiVersion}` }
      : {}),
    // Without conversion a served version shows what is stored, so it has to have every field of the stored one: what it
    // lacked would be lost when somebody edits an object by it.
    schema: { openAPIV3Schema: served ? objectSchema(kind, definition) : unservedSchema },
    subresources: { status: {} },
    additionalPrinterColumns: [...columns, age],
  }
}

function objectSchema(kind: Kind, { spec }: KindDefinition): StructuralSchema {
  const specSchema = toStructuralSchema(spec, adjustmentsOf(kind))
  return {
    type: 'object',
    ...(specSchema.description === undefined ? {} : { description: specSchema.description }),
    properties: { spec: specSchema, status: statusSchema(kind) },
  }
}

/** An API server refuses to forget a version by which it may have stored objects once. */
const unservedSchema: StructuralSchema = {
  type: 'object',
  description: 'Not served; listed for clusters with objects that were stored in this version.',
  'x-kubernetes-preserve-unknown-fields': true,
}

function splitVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/')
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}
