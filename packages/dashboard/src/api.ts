import type { ChangeReport, ParticipationState, Problem, ProxyStatus } from '@osm-ts/core'

/** Which mesh a page shows. */
export interface MeshSummary {
  /** The folder of a mesh on this machine, or the namespace of a control plane. */
  readonly title: string
  /** Version of osm, which serves the page. */
  readonly version: string
}

/** A box of the picture. */
export interface TopologyNode {
  readonly id: string
  /** `workload`: all instances of a service account. `outside`: a caller or destination that is not an object of the mesh. */
  readonly kind: 'workload' | 'service' | 'outside'
  /** Empty outside of the mesh. */
  readonly namespace: string
  readonly name: string
  /** `<namespace>/<instance>` of the proxies of a workload; sorted. */
  readonly proxies: readonly string[]
  /** Sidecar classes of these proxies; sorted. */
  readonly classes: readonly string[]
}

/** A rule behind an arrow. */
export interface TopologyRule {
  /** `<port> <protocol> <path, methods and headers in words>`, or the share of a backend. */
  readonly request: string
  /** Objects, and fields of them. */
  readonly allowedBy: readonly string[]
}

/** An arrow of the picture. */
export interface TopologyEdge {
  readonly from: string
  readonly to: string
  /** `access`: may call. `split`: a TrafficSplit sends a share there. `serves`: instances of the workload are endpoints of the service. */
  readonly kind: 'access' | 'split' | 'serves'
  readonly rules: readonly TopologyRule[]
  /** True if the called sidecar accepts nothing but mutual TLS of the mesh along the arrow. */
  readonly isMutualTls?: boolean
}

/** Who may call whom, as policy has it. Nodes are sorted by id, edges by their ends. */
export interface Topology {
  readonly nodes: readonly TopologyNode[]
  readonly edges: readonly TopologyEdge[]
}

/** Requests that sidecars have counted lately, from a workload to a service: ids of nodes of the topology. */
export interface TrafficEdge {
  readonly from: string
  readonly to: string
  readonly perSecond: number
  /** Share of the answers with a status below 500, from 0 to 1. */
  readonly success: number
  /** Absent for sidecar classes that measure no durations. */
  readonly p99Ms?: number
}

/** A proxy, and whether it takes part. */
export interface ShownProxy extends ProxyStatus {
  /** Absent for a proxy that no certificate was issued for. */
  readonly participation?: ParticipationState
  /** RFC 3339: when the service certificate expires that the controller keeps for its identity. Absent for one that it does not keep. */
  readonly certificateExpires?: string
  /** `<namespace>/<service>` */
  readonly services: readonly string[]
}

/** A finding, and what its code stands for. */
export interface ShownProblem extends Problem {
  readonly meaning: string
}

/** What the page is told of by server-sent events, by the name of the event. */
export interface Sections {
  readonly mesh: MeshSummary
  readonly topology: Topology
  readonly proxies: readonly ShownProxy[]
  /** Edges without traffic are left out. */
  readonly traffic: readonly TrafficEdge[]
  /** The newest first. */
  readonly pushes: readonly ChangeReport[]
  readonly problems: readonly ShownProblem[]
  /** Why what is shown may be outdated; empty where it is not. */
  readonly fault: string
}

/** A question of view Why, as `osm policy can` takes it. */
export interface WhyQuestion {
  readonly from: string
  readonly to: string
  readonly method: string
  readonly path: string
  /** `name: value`, one a line. */
  readonly headers: string
}

/** The answer to a {@link WhyQuestion}. */
export interface WhyAnswer {
  readonly allowed: boolean
  /** As `osm policy can` prints it: the verdict, what decides, and where that is written down. */
  readonly lines: readonly string[]
}

/** Access that a change gives or takes. */
export interface AccessChange {
  readonly caller: string
  readonly destination: string
  readonly protocol: string
  readonly request: string
  readonly allowedBy: readonly string[]
}

/** A change that is not applied. */
export interface WhatIfQuestion {
  /** Objects to apply, as YAML; may be empty. */
  readonly yaml: string
  /** Objects to delete: `<kind>/<namespace>/<name>`. */
  readonly remove: readonly string[]
}

/** What a change would do, as `osm diff` computes it. */
export interface WhatIfAnswer {
  readonly access: { readonly gained: readonly AccessChange[]; readonly lost: readonly AccessChange[] }
  readonly routes: readonly {
    readonly caller: string
    readonly destination: string
    readonly request: string
    readonly before?: string
    readonly after?: string
  }[]
  readonly proxies: { readonly total: number; readonly changed: readonly string[] }
  readonly findings: { readonly new: readonly Problem[]; readonly resolved: readonly Problem[] }
}

/** An answer to a question that cannot be answered. */
export interface Refusal {
  readonly error: string
}

/** True if something is wrong with a proxy, or not finished. */
export function isTroubled({ connected, state, rejected, denied, conditions }: ShownProxy): boolean {
  return !connected || state !== 'applied' || rejected.length + denied.length + conditions.length > 0
}
