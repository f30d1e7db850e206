import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { readObjects, type Kind, type MeshObject } from '@osm-ts/core'

const folder = new URL('mesh/', import.meta.url)
const read = readdirSync(folder).map((file) => readObjects(readFileSync(new URL(file, folder), 'utf8'), { file }))
const objects = read.flatMap((file) => file.objects)

function all<K extends Kind>(kind: K): readonly Extract<MeshObject, { kind: K }>[] {
  return objects.filter((object): object is Extract<MeshObject, { kind: K }> => object.kind === kind)
}

function names(kind: Kind): readonly string[] {
  return all(kind).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
}

/** Workloads that a service selects. */
function selected(service: string): readonly string[] {
  const { metadata, spec } = all('Service').find(
    (object) => `${object.metadata.namespace}/${object.metadata.name}` === service,
  )!
  return all('Workload')
    .filter(
      ({ metadata: { namespace, labels } }) =>
        namespace === metadata.namespace &&
        Object.entries(spec.selector ?? { '': '' }).every(([key, value]) => labels[key] === value),
    )
    .map((workload) => workload.metadata.name)
}

describe('the mesh of the bookstore', () => {
  it('is read without a problem', () => {
    expect(read.flatMap(({ problems }) => problems)).toEqual([])
  })

  it('has every namespace and service account that is named', () => {
    expect(
      [...new Set(objects.map(({ metadata }) => metadata.namespace))]
        .filter((name) => !['', 'osm-system'].includes(name))
        .sort(),
    ).toEqual(
      all('Namespace')
        .map(({ metadata }) => metadata.name)
        .sort(),
    )
    for (const { metadata } of all('Namespace'))
      expect(metadata.labels).toEqual({ 'openservicemesh.io/monitored-by': 'osm' })
    for (const { metadata, spec } of all('Workload'))
      expect(names('ServiceAccount')).toContain(`${metadata.namespace}/${spec.serviceAccountName}`)
  })

  it('starts programs that exist', () => {
    for (const { spec } of all('Workload')) {
      const [node, program = ''] = spec.command ?? []
      expect(node).toBe('node')
      expect(existsSync(new URL(`${String(spec.workingDir)}/${program}`, folder))).toBe(true)
    }
  })

  it('has an apex service that selects the workloads of all versions, as OSM 1.2 asks', () => {
    expect(selected('bookstore/bookstore')).toEqual(['bookstore-v1', 'bookstore-v2'])
    expect(selected('bookstore/bookstore-v1')).toEqual(['bookstore-v1'])
    expect(selected('bookstore/bookstore-v2')).toEqual(['bookstore-v2'])
    expect(all('TrafficSplit').map(({ spec }) => [spec.service, spec.backends])).toEqual([
      [
        'bookstore.bookstore',
        [
          { service: 'bookstore-v1', weight: 75 },
          { service: 'bookstore-v2', weight: 25 },
        ],
      ],
    ])
  })

  it('allows what the README says, and nothing else', () => {
    const grants = all('TrafficTarget').map(({ metadata, spec: { sources, destination, rules } }) => {
      expect(metadata.namespace).toBe(destination.namespace)
      for (const { kind, name } of rules) expect(names(kind as Kind)).toContain(`${metadata.namespace}/${name}`)
      const routes = rules.flatMap(({ kind, name, matches }) => matches ?? [`${kind} ${name}`])
      return `${sources.map(({ name }) => name).join()} → ${destination.name}: ${routes.join(', ')}`
    })
    expect(grants.sort()).toEqual([
      'bookbuyer → bookstore: buy-a-book, books-bought',
      'bookstore → bookwarehouse: restock-books',
      'bookthief → bookstore: books-bought',
      'tcp-client → tcp-echo: TCPRoute tcp-echo-port',
    ])
    expect(all('MeshConfig')[0]?.spec).toMatchObject({
      traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false },
    })
  })

  it('names only matches that the route groups have', () => {
    const known = all('HTTPRouteGroup').flatMap(({ metadata, spec }) =>
      spec.matches.map((match) => `${metadata.name}/${match.name}`),
    )
    const used = all('TrafficTarget').flatMap(({ spec }) =>
      spec.rules.flatMap(({ name, matches = [] }) => matches.map((match) => `${name}/${match}`)),
    )
    expect(used.filter((match) => !known.includes(match))).toEqual([])
  })
})
