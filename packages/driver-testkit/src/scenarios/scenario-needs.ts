import type { RequiredFeature } from '@osm-ts/driver-api/host'
import type { Protocol } from '@osm-ts/driver-api/policy'

import type { Expectation, Scenario, ScenarioObject, ScenarioWorkload } from './format.js'
import { workloadService } from './objects.js'

/** What the mesh compares as text: expressions without special characters. */
const literal = /^[A-Za-z0-9/_~%!@&=,;:'" -]*$/

interface ServicePort {
  readonly port?: number
  readonly appProtocol?: string
}

interface HttpMatch {
  readonly pathRegex?: string
  readonly headers?: readonly Readonly<Record<string, string>>[]
}

/**
 * What sidecars have to declare so that a scenario can be shown with them, each once: the features that its file names, the protocols of the ports that it calls, and the
 * matchers of its routes. A port that no one calls requests nothing: sidecars that can't serve it keep it closed.
 */
export function needsOf(scenario: Scenario): readonly RequiredFeature[] {
  const { steps, needs = [] } = scenario
  const workloads = [...scenario.workloads, ...steps.flatMap((step) => step.workloads ?? [])]
  const objects = [...(scenario.objects ?? []), ...steps.flatMap((step) => step.apply ?? [])]
  const called = new Set(steps.flatMap(({ expect }) => expect.flatMap(portOf)))
  const protocols = [...meshServices(workloads), ...objects.filter(isService)]
    .flatMap(portsOf)
    .flatMap(({ port, appProtocol }) =>
      port !== undefined && called.has(port) && isProtocol(appProtocol) ? [appProtocol] : [],
    )
  return [
    ...new Set([
      ...needs,
      ...protocols.map((protocol): RequiredFeature => `protocol:${protocol}`),
      ...objects.flatMap(matchersOf),
    ]),
  ]
}

/** Port that an expectation calls, at the sidecar of a workload or at a service. */
function portOf(expectation: Expectation): readonly number[] {
  const at = 'at' in expectation ? expectation.at : undefined
  if (at !== undefined) return [Number(at.split(':').at(-1))]
  switch (expectation.kind) {
    case 'http':
      return urlPort(expectation.http.split(' ')[1] ?? '')
    case 'websocket':
      return urlPort(expectation.websocket)
    case 'grpc':
      return urlPort(`http://${expectation.grpc}`)
    case 'tcp':
      return urlPort(`http://${expectation.tcp}`)
    case 'kept':
    case 'stats':
    case 'problem':
      return []
  }
}

/** None for an address that is only known when the scenario runs: such are outside the mesh. */
function urlPort(url: string): readonly number[] {
  const { scheme = '', port } = /^(?<scheme>https?):\/\/[^/:{]+(?::(?<port>[0-9]+))?(?:\/|$)/.exec(url)?.groups ?? {}
  if (port !== undefined) return [Number(port)]
  return scheme === '' ? [] : [scheme === 'https' ? 443 : 80]
}

function meshServices(workloads: readonly ScenarioWorkload[]): readonly ScenarioObject[] {
  return workloads.flatMap((workload): readonly ScenarioObject[] => {
    const service = workload.sidecar === false ? undefined : workloadService(workload)
    return service === undefined ? [] : [service]
  })
}

function isService({ kind }: ScenarioObject): boolean {
  return kind === 'Service'
}

function portsOf({ spec }: ScenarioObject): readonly ServicePort[] {
  return (spec as { readonly ports?: readonly ServicePort[] } | undefined)?.ports ?? []
}

function isProtocol(appProtocol: string | undefined): appProtocol is Protocol {
  const known: Readonly<Record<Protocol, true>> = {
    http: true,
    http2: true,
    grpc: true,
    https: true,
    tcp: true,
    'tcp-server-first': true,
  }
  return appProtocol !== undefined && Object.hasOwn(known, appProtocol)
}

function matchersOf({ kind, spec }: ScenarioObject): readonly RequiredFeature[] {
  // Scenario files hold valid objects.
  if (kind === 'HTTPRoute') return routeMatchersOf(spec as RouteSpec)
  if (kind === 'GRPCRoute') return callMatchersOf(spec as CallSpec)
  if (kind !== 'HTTPRouteGroup') return []
  const { matches = [] } = (spec ?? {}) as { readonly matches?: readonly HttpMatch[] }
  return matches.flatMap(({ pathRegex = '.*', headers = [] }): readonly RequiredFeature[] => [
    ...(pathRegex === '.*' ? [] : [`path-match:${typeOf(pathRegex)}` as const]),
    ...headers
      .flatMap((header) => Object.values(header))
      .map((pattern) =>
        pattern === '.*' ? ('header-match:present' as const) : (`header-match:${typeOf(pattern)}` as const),
      ),
  ])
}

interface RouteSpec {
  readonly rules?: readonly {
    readonly matches?: readonly {
      readonly path?: { readonly type?: string; readonly value?: string }
      readonly headers?: readonly { readonly type?: string }[]
    }[]
  }[]
}

const routePaths: Readonly<Partial<Record<string, RequiredFeature>>> = {
  Exact: 'path-match:exact',
  RegularExpression: 'path-match:regex',
}

function routeMatchersOf({ rules = [] }: RouteSpec): readonly RequiredFeature[] {
  return rules
    .flatMap(({ matches = [] }) => matches)
    .flatMap(({ path, headers = [] }): readonly RequiredFeature[] => [
      ...(path === undefined || path.value === '/' ? [] : [routePaths[path.type ?? ''] ?? 'path-match:segments']),
      ...headers.map(valueMatcherOf),
    ])
}

interface CallSpec {
  readonly rules?: readonly {
    readonly matches?: readonly {
      readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string }
      readonly headers?: readonly { readonly type?: string }[]
    }[]
  }[]
}

function callMatchersOf({ rules = [] }: CallSpec): readonly RequiredFeature[] {
  return rules
    .flatMap(({ matches = [] }) => matches)
    .flatMap(({ method, headers = [] }): readonly RequiredFeature[] => [
      ...(method === undefined ? [] : [callMatcherOf(method)]),
      ...headers.map(valueMatcherOf),
    ])
}

/** A method alone is at the end of any path. */
function callMatcherOf({
  type,
  service,
  method,
}: {
  readonly type?: string
  readonly service?: string
  readonly method?: string
}): RequiredFeature {
  if (type === 'RegularExpression' || service === undefined) return 'path-match:regex'
  return method === undefined ? 'path-match:segments' : 'path-match:exact'
}

function valueMatcherOf({ type }: { readonly type?: string }): RequiredFeature {
  return type === 'RegularExpression' ? 'header-match:regex' : 'header-match:exact'
}

function typeOf(pattern: string): 'exact' | 'regex' {
  return literal.test(pattern) ? 'exact' : 'regex'
}
