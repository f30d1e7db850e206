import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OracleObject } from '@osm-ts/oracle'
import { parseAllDocuments } from 'yaml'

import { programs } from '../mesh.js'
import { account, routeGroup, service, trafficTarget, workload } from '../yaml.js'

/** What never changes while policies do, so that no Envoy starts in between: two namespaces, three clients, three servers, and services over them. */
export const clients = ['a/alice', 'a/bob', 'b/carol'] as const
export const servers = ['a/web', 'a/twin', 'b/store'] as const
export const HTTP_PORT = 8080
export const TCP_PORT = 9000

/** Has its own namespace: a random Retry of all services of a namespace may let a request wait for an hour. */
export const CANARY = 'canary/canary'
const CANARY_HOST = 'canary.canary'

/** A server without a sidecar: alone behind its own service, and beside others behind `a/both`. */
export const BARE = 'a/bare'
/** On the loopback of this machine, by the process: test files run side by side. */
export const BARE_ADDRESS = `127.${(process.pid >> 14) & 127}.${(process.pid >> 7) & 127}.${(process.pid & 127) + 2}`

/** Where servers note the requests that have a mark; of this process, since test files run side by side. */
export const ARRIVALS = join(tmpdir(), `osm-differential-${process.pid}`)

/** Selects nothing, and nothing of the mesh is behind it. */
const LEGACY = 'a/legacy'

/** In front of `a/web`, with other words for its protocols: one that Kubernetes has for HTTP, and one that no mesh knows. */
const WORDS = 'a/words'

/** Services with the ports that requests go to. */
export const services = ['a/web', 'a/twin', 'a/both', 'b/store', WORDS, BARE, LEGACY] as const

/** The documents that stay. */
export const topology: readonly string[] = [
  ...clients.flatMap((name) => [account(name), workload(name, { program: programs.idle })]),
  ...servers.flatMap((name) => [
    account(name),
    document('standalone.openservicemesh.io/v1alpha1', 'Workload', name, {
      metadata: { labels: { app: name.slice(2), tier: 'server' } },
      spec: {
        serviceAccountName: name.slice(2),
        ports: [
          { name: 'http', port: HTTP_PORT },
          { name: 'tcp', port: TCP_PORT },
        ],
        command: [process.execPath, programs.httpAndTcp],
        env: [
          { name: 'NAME', value: name },
          { name: 'ARRIVALS', value: ARRIVALS },
        ],
      },
    }),
    twoPorts(name, { app: name.slice(2) }),
  ]),
  twoPorts('a/both', { tier: 'server' }),
  account(BARE),
  document('standalone.openservicemesh.io/v1alpha1', 'Workload', BARE, {
    metadata: { labels: { app: 'bare', tier: 'server' } },
    spec: {
      serviceAccountName: 'bare',
      sidecar: false,
      address: BARE_ADDRESS,
      ports: [
        { name: 'http', port: HTTP_PORT },
        { name: 'tcp', port: TCP_PORT },
      ],
    },
  }),
  twoPorts(BARE, { app: 'bare' }),
  twoPorts(LEGACY, {}),
  twoPorts(WORDS, { app: 'web' }, { http: 'kubernetes.io/ws', tcp: 'redis' }),
  account(CANARY),
  workload(CANARY, { program: programs.http, port: HTTP_PORT }),
  service(CANARY, 'canary', HTTP_PORT),
]

/** Lets the first client ask its own server for a path that names the state: once it is answered, this is the state that policies are made from. */
export function canaryPolicy(state: number): readonly string[] {
  return [
    routeGroup(CANARY, [{ name: 'state', pathRegex: `/state-${state}` }]),
    trafficTarget(CANARY, {
      to: CANARY,
      from: [clients[0]],
      rules: [{ kind: 'HTTPRouteGroup', name: 'canary' }],
    }),
  ]
}

/** URL of the canary for a state. */
export function canaryUrl(state: number): string {
  return `http://${CANARY_HOST}:${HTTP_PORT}/state-${state}`
}

/** Documents as the oracle reads them. */
export function parsed(documents: readonly string[]): readonly OracleObject[] {
  return documents.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as OracleObject))
}

function twoPorts(
  name: string,
  selector: Readonly<Record<string, string>>,
  protocols = { http: 'http', tcp: 'tcp' },
): string {
  const ports = [
    { name: 'http', port: HTTP_PORT, targetPort: HTTP_PORT, appProtocol: protocols.http },
    { name: 'tcp', port: TCP_PORT, targetPort: TCP_PORT, appProtocol: protocols.tcp },
  ]
  return document('v1', 'Service', name, { spec: { selector, ports } })
}

/** One document of YAML. */
export function document(
  apiVersion: string,
  kind: string,
  name: string,
  { metadata = {}, ...rest }: { readonly metadata?: object; readonly spec: object },
): string {
  const [namespace, own] = name.split('/')
  return `${JSON.stringify({ apiVersion, kind, metadata: { namespace, name: own, ...metadata }, ...rest })}\n`
}
