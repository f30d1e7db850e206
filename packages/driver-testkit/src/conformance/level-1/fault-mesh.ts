import type { Expectation, Scenario, ScenarioObject, ScenarioStep } from '../../scenarios/format.js'

/** Who may call the server of faults, and who may not until somebody lets it. */
export const urls = { server: 'http://server.faults:8080/', other: 'http://other.faults:8080/' } as const

const serving = { main: { port: 8080, app: 'http' as const } }

/** What lets an account call another. */
export function allow(source: string, destination: string): ScenarioObject {
  return {
    apiVersion: 'access.smi-spec.io/v1alpha3',
    kind: 'TrafficTarget',
    metadata: { name: `${source}-to-${destination}`, namespace: 'faults' },
    spec: {
      destination: { kind: 'ServiceAccount', name: destination, namespace: 'faults' },
      sources: [{ kind: 'ServiceAccount', name: source, namespace: 'faults' }],
      rules: [{ kind: 'HTTPRouteGroup', name: 'all', matches: ['all'] }],
    },
  }
}

/** The mesh that faults befall: a server with its client and a thief, and two that have nothing to do with them. */
export function faultMesh(name: string, mesh: ScenarioObject = {}): Scenario {
  return {
    name,
    title: name,
    modes: ['explicit'],
    mesh,
    workloads: [
      { name: 'faults/client' },
      { name: 'faults/thief' },
      { name: 'faults/server', ports: serving },
      { name: 'faults/bystander' },
      { name: 'faults/other', ports: serving },
    ],
    objects: [
      {
        apiVersion: 'specs.smi-spec.io/v1alpha4',
        kind: 'HTTPRouteGroup',
        metadata: { name: 'all', namespace: 'faults' },
        spec: { matches: [{ name: 'all', pathRegex: '.*' }] },
      },
      allow('client', 'server'),
      allow('bystander', 'other'),
    ],
    steps: [],
  }
}

/** Removes what {@link allow} has made, or adds some. */
export function change(title: string, what: Pick<ScenarioStep, 'apply' | 'remove'>): ScenarioStep {
  return { title, ...what, expect: [] }
}

export function answered(from: string, url: string): Expectation {
  return { kind: 'http', from, http: `GET ${url}`, status: 200 }
}

export function denied(from: string, url: string): Expectation {
  return { kind: 'http', from, http: `GET ${url}`, status: 'denied' }
}
