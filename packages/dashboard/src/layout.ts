import dagre from '@dagrejs/dagre'

import type { Topology, TopologyEdge, TopologyNode } from './api.js'

/** What is used of dagre, whose own types TypeScript cannot resolve: they import each other without file extensions. */
interface Dagre {
  readonly graphlib: { readonly Graph: new (options: { readonly multigraph: boolean }) => DagreGraph }
  readonly layout: (graph: DagreGraph) => void
}

interface DagreGraph {
  setGraph(label: Readonly<Record<string, string | number>>): void
  setNode(id: string, label: { readonly width: number; readonly height: number }): void
  setEdge(from: string, to: string, label: object, name: string): void
  graph(): { readonly width?: number; readonly height?: number }
  node(id: string): { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
  edge(edge: { readonly v: string; readonly w: string; readonly name: string }): Pick<PlacedEdge, 'points'>
}

const { graphlib, layout } = dagre as unknown as Dagre

/** Pictures with more boxes are drawn by namespace: they would be hard to read, and their layout would take seconds. */
const MAX_NODES = 150
const CHARACTER_WIDTH = 7.5
const NODE_HEIGHT = 42
const MARGIN = 16

/** A box in its place, in pixels; x and y are its centre. */
export interface PlacedNode extends TopologyNode {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** An arrow in its place. */
export interface PlacedEdge extends TopologyEdge {
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

/** A picture that can be drawn. */
export interface Picture {
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
  readonly width: number
  readonly height: number
}

/** The second line of a box: where it is, and the class of its sidecars. */
export function placeText({ namespace, classes }: Pick<TopologyNode, 'namespace' | 'classes'>): string {
  return [namespace, classes.join(', ')].filter((text) => text !== '').join(' · ')
}

/** Where boxes and arrows go, from callers on the left to those who are called on the right. */
export function layOut({ nodes, edges }: Topology): Picture {
  const graph = new graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 24, ranksep: 80, marginx: MARGIN, marginy: MARGIN })
  for (const node of nodes) {
    const longest = Math.max(node.name.length, placeText(node).length)
    graph.setNode(node.id, { width: Math.max(90, longest * CHARACTER_WIDTH + 24), height: NODE_HEIGHT })
  }
  for (const edge of edges) graph.setEdge(edge.from, edge.to, {}, edge.kind)
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    nodes: nodes.map((node) => {
      const { x, y, width: boxWidth, height: boxHeight } = graph.node(node.id)
      return { ...node, x, y, width: boxWidth, height: boxHeight }
    }),
    edges: edges.map((edge) => ({ ...edge, points: graph.edge({ v: edge.from, w: edge.to, name: edge.kind }).points })),
    width,
    height,
  }
}

/** The same topology, by namespace if it is large. */
export function readable(topology: Topology): Topology {
  return topology.nodes.length <= MAX_NODES ? topology : byNamespace(topology)
}

/** One box a namespace, and one arrow between two of them. */
function byNamespace({ nodes, edges }: Topology): Topology {
  const boxes = new Map<string, TopologyNode>()
  const boxOf = new Map<string, string>()
  for (const node of nodes) {
    const id = node.kind === 'outside' ? node.id : `namespace ${node.namespace}`
    boxOf.set(node.id, id)
    const box = boxes.get(id)
    boxes.set(
      id,
      node.kind === 'outside'
        ? node
        : {
            id,
            kind: 'workload',
            namespace: '',
            name: node.namespace,
            proxies: [...(box?.proxies ?? []), ...node.proxies],
            classes: [...new Set([...(box?.classes ?? []), ...node.classes])].sort(),
          },
    )
  }
  const arrows = new Map<string, TopologyEdge>()
  for (const edge of edges) {
    const [from, to] = [boxOf.get(edge.from), boxOf.get(edge.to)]
    if (edge.kind !== 'access' || from === undefined || to === undefined || from === to) continue
    const key = `${from}\0${to}`
    const arrow = arrows.get(key)
    const rules = [...(arrow?.rules ?? []), ...edge.rules]
    arrows.set(key, {
      from,
      to,
      kind: 'access',
      rules,
      isMutualTls: edge.isMutualTls === true && arrow?.isMutualTls !== false,
    })
  }
  return { nodes: [...boxes.values()], edges: [...arrows.values()] }
}

/** What is near the boxes that a filter keeps: they, their arrows, and the other ends of those. */
export function filterTopology({ nodes, edges }: Topology, keeps: (node: TopologyNode) => boolean): Topology {
  const kept = new Set(nodes.filter(keeps).map(({ id }) => id))
  const touched = edges.filter(({ from, to }) => kept.has(from) || kept.has(to))
  const near = new Set([...kept, ...touched.flatMap(({ from, to }) => [from, to])])
  return { nodes: nodes.filter(({ id }) => near.has(id)), edges: touched }
}
