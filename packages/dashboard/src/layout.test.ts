import { describe, expect, it } from '@jest/globals'

import type { Topology, TopologyNode } from './api.js'
import { filterTopology, layOut, readable } from './layout.js'

const node = (kind: TopologyNode['kind'], namespace: string, name: string): TopologyNode => ({
  id: `${kind} ${namespace}/${name}`,
  kind,
  namespace,
  name,
  proxies: kind === 'workload' ? [`${namespace}/${name}-0`] : [],
  classes: kind === 'workload' ? ['envoy'] : [],
})
const [buyer, store, keeper] = [
  node('workload', 'shop', 'buyer'),
  node('service', 'store', 'store'),
  node('workload', 'store', 'keeper'),
]
const topology: Topology = {
  nodes: [buyer, store, keeper],
  edges: [
    {
      from: buyer.id,
      to: store.id,
      kind: 'access',
      rules: [{ request: 'GET /', allowedBy: ['TrafficTarget store/all'] }],
    },
    { from: store.id, to: keeper.id, kind: 'serves', rules: [] },
  ],
}

/** A mesh of namespaces in which each workload calls the service of the next namespace. */
function largeMesh(namespaces: number, workloads: number): Topology {
  const names = Array.from({ length: namespaces }, (_, at) => `n${at}`)
  const nodes = names.flatMap((namespace) => [
    node('service', namespace, 'service'),
    ...Array.from({ length: workloads }, (_, at) => node('workload', namespace, `w${at}`)),
  ])
  const edges = nodes
    .filter(({ kind }) => kind === 'workload')
    .map(({ id, namespace }) => ({
      from: id,
      to: `service n${(Number(namespace.slice(1)) + 1) % namespaces}/service`,
      kind: 'access' as const,
      rules: [{ request: `of ${id}`, allowedBy: [] }],
      isMutualTls: true,
    }))
  return { nodes, edges }
}

describe('the layout of a topology', () => {
  it('puts callers left of what they call, inside the picture and without overlap', () => {
    const { nodes, edges, width, height } = layOut(topology)
    const [first, second, third] = nodes
    expect(first?.x).toBeLessThan(second?.x ?? 0)
    expect(second?.x).toBeLessThan(third?.x ?? 0)
    for (const { x, y, width: boxWidth } of nodes) {
      expect(x + boxWidth / 2).toBeLessThanOrEqual(width)
      expect(y).toBeLessThanOrEqual(height)
    }
    expect(edges.every(({ points }) => points.length >= 2)).toBe(true)
  })

  it('draws two arrows of one direction apart', () => {
    const both = layOut({
      ...topology,
      edges: [...topology.edges, { from: buyer.id, to: store.id, kind: 'split', rules: [] }],
    })
    const [access, , split] = both.edges
    expect(access?.points).not.toEqual(split?.points)
  })

  it('draws a small mesh as it is, and a large one by namespace with all its rules and proxies', () => {
    expect(readable(topology)).toBe(topology)
    const { nodes, edges } = readable(largeMesh(10, 100))
    expect(nodes.map(({ name, proxies }) => [name, proxies.length])).toEqual(
      Array.from({ length: 10 }, (_, at) => [`n${at}`, 100]),
    )
    expect(nodes.map(({ classes }) => classes)).toEqual(Array.from({ length: 10 }, () => ['envoy']))
    expect(edges.map(({ rules, isMutualTls }) => [rules.length, isMutualTls])).toEqual(
      Array.from({ length: 10 }, () => [100, true]),
    )
  })

  it('takes an arrow between namespaces for mutual TLS only if all that it stands for are', () => {
    const mesh = largeMesh(10, 100)
    const edges = mesh.edges.map((edge, at) => ({ ...edge, isMutualTls: at > 0 }))
    const between = readable({ ...mesh, edges }).edges.map(({ isMutualTls }) => isMutualTls)
    expect(between).toEqual([false, ...Array.from({ length: 9 }, () => true)])
  })

  it('keeps what a filter names, and the other ends of its arrows', () => {
    const { nodes, edges } = filterTopology(topology, ({ name }) => name === 'buyer')
    expect(nodes.map(({ name }) => name)).toEqual(['buyer', 'store'])
    expect(edges).toHaveLength(1)
  })
})
