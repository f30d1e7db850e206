import { describe, expect, it } from '@jest/globals'
import { Ajv, type ValidateFunction } from 'ajv'
import {
  type Decoded,
  type Kind,
  type KindDefinition,
  kindDefinitions,
  kindWrittenAs,
  ObjectDecoder,
} from '@osm-ts/core'

import { faultsOfStructure } from '../../../core/test/spec/faults-of-structure.js'
import {
  exampleObjects,
  faultyField,
  fullObjects,
  storedObjects,
  titled,
  type WrittenObject,
} from '../../../core/test/spec/stored-objects.js'
import type { CustomResourceDefinition } from './custom-resource-definition.js'
import { customKinds, customResourceDefinitions } from './custom-resource-definitions.js'
import { adjustedPaths, adjustmentsOf } from './stored-form.js'
import { toStructuralSchema } from './structural-schema.js'

const definitions = customResourceDefinitions()
const decoder = new ObjectDecoder()

function definitionOf(kind: string): CustomResourceDefinition {
  const definition = definitions.find(({ spec }) => spec.names.kind === kind)
  if (definition === undefined) throw new Error(`no definition of ${kind}`)
  return definition
}

const isCustom = ({ apiVersion, kind }: WrittenObject): boolean =>
  customKinds().some((custom) => custom === kindWrittenAs(kind, apiVersion))

/** What the API server checks, compiled once a version. */
const validators = new Map<string, ValidateFunction>()
function validatorOf({ apiVersion, kind }: WrittenObject): ValidateFunction {
  const key = `${apiVersion} ${kind}`
  const known = validators.get(key)
  if (known !== undefined) return known
  const version = definitionOf(kind).spec.versions.find(({ name }) => apiVersion.endsWith(`/${name}`))
  if (version?.served !== true) throw new Error(`${key} is not served`)
  const compiled = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(
    version.schema.openAPIV3Schema,
  )
  validators.set(key, compiled)
  return compiled
}

/** Fields that the API server refuses, as `spec.sources[0].kind`. */
function refusedFields(object: WrittenObject): readonly string[] {
  const validate = validatorOf(object)
  if (validate(object)) return []
  return (validate.errors ?? []).map(({ instancePath, params }) => {
    const missing: unknown = params.missingProperty
    return `${instancePath}${typeof missing === 'string' ? `/${missing}` : ''}`
      .slice(1)
      .replace(/\/(\d+)/g, '[$1]')
      .replaceAll('/', '.')
  })
}

/** Reads an object as it comes from an API server: without lines, and without the text of scalars. */
function decode(object: WrittenObject): Decoded {
  const origin = { kind: 'file', file: 'cluster', line: 1, column: 1 } as const
  return decoder.decode(object, { origin, defaultNamespace: 'shop', locate: () => origin, sourceText: () => undefined })
}

describe('custom resource definitions', () => {
  it('have short names that the API server takes where a definition without them is replaced', () => {
    for (const { spec } of definitions) {
      const { singular, plural, shortNames = [] } = spec.names
      expect(shortNames).not.toContain(singular)
      expect(shortNames).not.toContain(plural)
    }
  })

  it.each(definitions.map((definition) => [definition.metadata.name, definition] as const))(
    '%s is structural in every version',
    (_name, { spec }) => {
      for (const { schema } of spec.versions) expect(faultsOfStructure(schema.openAPIV3Schema)).toEqual([])
      expect(spec.versions.filter(({ storage }) => storage)).toHaveLength(1)
      expect(spec.versions.filter(({ storage, served }) => storage && !served)).toEqual([])
    },
  )

  it('are there for every kind that lives in a cluster, under the names that OSM gave them', () => {
    const names = definitions.map(({ metadata, spec }) => [
      metadata.name,
      spec.scope,
      spec.versions.map(({ name, served }) => (served ? name : `(${name})`)).join(' '),
    ])
    expect(names).toEqual([
      ['accesscerts.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['accesscontrols.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['egresses.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['egressgateways.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['extensionservices.config.openservicemesh.io', 'Namespaced', 'v1alpha2'],
      ['externalworkloads.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['globaltrafficpolicies.flomesh.io', 'Namespaced', 'v1alpha1'],
      ['httproutegroups.specs.smi-spec.io', 'Namespaced', 'v1alpha4 (v1alpha3) (v1alpha2) (v1alpha1)'],
      ['ingressbackends.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['meshconfigs.config.openservicemesh.io', 'Namespaced', 'v1alpha2 v1alpha1'],
      ['meshrootcertificates.config.openservicemesh.io', 'Namespaced', 'v1alpha2'],
      ['plugins.plugin.flomesh.io', 'Cluster', 'v1alpha1'],
      ['pluginchains.plugin.flomesh.io', 'Namespaced', 'v1alpha1'],
      ['pluginconfigs.plugin.flomesh.io', 'Namespaced', 'v1alpha1'],
      ['referencegrants.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['retries.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['serviceexports.flomesh.io', 'Namespaced', 'v1alpha1'],
      ['serviceimports.flomesh.io', 'Namespaced', 'v1alpha1'],
      ['tcproutes.specs.smi-spec.io', 'Namespaced', 'v1alpha4 (v1alpha3) (v1alpha2) (v1alpha1)'],
      ['telemetries.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
      ['trafficsplits.split.smi-spec.io', 'Namespaced', 'v1alpha4 (v1alpha3) v1alpha2 (v1alpha1)'],
      ['traffictargets.access.smi-spec.io', 'Namespaced', 'v1alpha3 (v1alpha2) (v1alpha1)'],
      ['upstreamtrafficsettings.policy.openservicemesh.io', 'Namespaced', 'v1alpha1'],
    ])
    for (const { metadata, spec } of definitions) {
      expect(metadata.labels).toEqual({ 'app.kubernetes.io/name': 'openservicemesh.io' })
      expect(spec.names.categories).toContain('osm')
      expect(spec.conversion).toEqual({ strategy: 'None' })
    }
  })

  it('show the columns of OSM', () => {
    const columns = (kind: Kind) => definitionOf(kind).spec.versions[0]?.additionalPrinterColumns ?? []
    const shown = (kind: Kind) => columns(kind).map(({ name, jsonPath }) => `${name} ${jsonPath}`)
    expect(shown('IngressBackend')).toEqual(['Status .status.currentStatus', 'Age .metadata.creationTimestamp'])
    expect(shown('MeshRootCertificate')).toContain('State .status.state')
    expect(shown('TrafficSplit')).toContain('Service .spec.service')
  })

  it('warn of the old version of MeshConfig', () => {
    const [current, old] = definitionOf('MeshConfig').spec.versions
    expect(current?.deprecated).toBeUndefined()
    expect(old).toMatchObject({
      deprecated: true,
      deprecationWarning: 'config.openservicemesh.io/v1alpha1 is deprecated; write config.openservicemesh.io/v1alpha2',
    })
  })

  it('write the defaults that OSM wrote, and no others', () => {
    const defaults = definitions.flatMap(({ spec: { names, versions } }) =>
      JSON.stringify(versions[0]).includes('"default":') ? [names.kind] : [],
    )
    expect(defaults).toEqual([
      'GlobalTrafficPolicy',
      'MeshConfig',
      'MeshRootCertificate',
      'ServiceExport',
      'ServiceImport',
    ])
    expect(definitionOf('MeshConfig').spec.versions[0]?.schema.openAPIV3Schema).toMatchObject({
      properties: {
        spec: {
          properties: {
            sidecar: {
              properties: {
                tlsMinProtocolVersion: { default: 'TLSv1_2' },
                tlsMaxProtocolVersion: { default: 'TLSv1_3' },
                localProxyMode: { default: 'Localhost' },
              },
            },
            traffic: {
              properties: {
                inboundExternalAuthorization: {
                  properties: { statPrefix: { default: 'inboundExtAuthz' }, timeout: { default: '1s' } },
                },
              },
            },
          },
        },
      },
    })
  })

  it.each(customKinds())('are adjusted at fields that %s has', (kind) => {
    const asked = new Set<string>()
    const { spec }: KindDefinition = kindDefinitions[kind]
    toStructuralSchema(spec, (path) => {
      asked.add(path)
      return adjustmentsOf(kind)(path)
    })
    expect(adjustedPaths(kind).filter((path) => !asked.has(path))).toEqual([])
  })
})

describe('objects', () => {
  it.each(titled(storedObjects('accepted')))('%s is stored and used', (_title, object) => {
    expect(refusedFields(object)).toEqual([])
    const { object: decoded, problems } = decode(object)
    expect(problems).toEqual([])
    expect(decoded).toBeDefined()
  })

  it.each(titled(storedObjects('reported')))('%s is stored, and reported', (_title, object) => {
    expect(refusedFields(object)).toEqual([])
    const { object: decoded, problems } = decode(object)
    expect(problems.map(({ field }) => field)).toContain(faultyField(object))
    expect(decoded).toBeUndefined()
  })

  it.each(titled(storedObjects('refused')))('%s is refused, and would be reported', (_title, object) => {
    expect(refusedFields(object)).toContain(faultyField(object))
    expect(decode(object).problems.map(({ field }) => field)).toContain(faultyField(object))
  })

  it('of every kind and served version are among those', () => {
    const served = definitions.flatMap(({ spec: { group, names, versions } }) =>
      versions.flatMap(({ name, served }) => (served ? [`${group}/${name} ${names.kind}`] : [])),
    )
    const version = ({ apiVersion, kind }: WrittenObject): string => `${apiVersion} ${kind}`
    expect(new Set(storedObjects('accepted').map(version))).toEqual(new Set(served))
    expect(new Set(storedObjects('refused').map(({ kind }) => kind))).toEqual(new Set(customKinds()))
  })

  it('with every field that a kind has are stored', () => {
    const full = fullObjects().filter(isCustom)
    expect(new Set(full.map(({ kind }) => kind))).toEqual(new Set(customKinds()))
    const refused = full.flatMap((object) => refusedFields(object).map((field) => `${object.kind} ${field}`))
    // The example names every provider there is, and an object may name one.
    expect(refused).toEqual(['MeshRootCertificate spec.provider'])
  })

  it('of the example meshes are stored', () => {
    const objects = exampleObjects().filter(isCustom)
    expect(objects.length).toBeGreaterThan(0)
    expect(objects.flatMap((object) => refusedFields(object).map((field) => `${object.kind} ${field}`))).toEqual([])
  })
})
