import { createHash } from 'node:crypto'

import type { MeshPart, PartLookup, ProxyPart, TrustPart } from '@osm-ts/driver-api/policy'

import { type ConfigFile, fileNames, type Translation } from './document.js'
import { grantsOf } from './grants.js'
import { servedSections } from './inbound.js'
import { calledSections } from './outbound.js'
import { HaproxyPolicyReader } from './policy-reader.js'
import { probeSections } from './probes.js'
import { idleTimeoutMs, type Section, sectionText } from './section.js'
import { upstreamSections } from './upstreams.js'
import { socketName } from './words.js'

/** Where everybody who scrapes a sidecar of OSM looks. */
export const METRICS_PATH = '/stats/prometheus'
/** Answers 200 as soon as HAProxy runs, which it does with the first configuration only. */
export const READY_PATH = '/ready'

/** Workers of former configurations that may live on for the sake of long connections. */
const MAX_FORMER_WORKERS = 20

/** Says a policy in the words of HAProxy. The same policy gives the same bytes. */
export function translate(proxy: ProxyPart, parts: PartLookup): Translation {
  const reader = new HaproxyPolicyReader(parts)
  const mesh = reader.part(proxy.mesh, 'mesh')
  const trust = reader.part(proxy.trust, 'trust')
  const served = isUsual(trust, proxy, reader) ? servedSections(proxy, reader) : []
  const upstreams = isUsual(trust, proxy) ? upstreamSections(proxy, mesh, reader) : undefined
  const called = calledSections(proxy, upstreams?.names ?? new Map(), reader)
  const roots: ConfigFile = { name: fileNames.roots, content: trust.roots.join('') }
  const probes = probeSections(proxy, reader)
  const files = [roots, ...called.files, ...probes.files]
  const sections: readonly Section[] = [
    defaults(mesh),
    ...own(proxy),
    ...probes.sections,
    ...served,
    ...called.sections,
    ...(upstreams?.sections ?? []),
  ]
  const body = sectionText(sections)
  const slots = upstreams?.slots ?? []
  // Endpoints are the only lines of such a form: everything else of a server is in default-server.
  const form = body.replaceAll(/^ {2}server (s[0-9]+) .* weight .*$/gm, '  server $1')
  const layout = digest(form, ...files.map(fixedText))
  return {
    document: {
      layout,
      access: grantsOf(served.length === 0 ? [] : proxy.inbound, trust, reader).map((grant) => digest(grant)),
      withdrawalMs: mesh.withdrawalTimeoutMs,
      config: `${sectionText([global(layout, files)])}\n${body}`,
      slots,
      files,
    },
    refusals: reader.refusals,
  }
}

/** What HAProxy can't be told of a file without a reload. */
function fixedText({ name, content, live }: ConfigFile): string {
  return `${name}\n${live === true ? content.replaceAll(/ .*$/gm, '') : content}`
}

/** The host asks of this class for no other parameters. If it did, nothing may be spoken with weaker ones. */
function isUsual(trust: TrustPart, proxy: ProxyPart, reader?: HaproxyPolicyReader): boolean {
  const { minVersion, maxVersion, cipherSuites, ecdhCurves } = trust
  const usual =
    (minVersion === 'TLSv1_2' || minVersion === 'TLS_AUTO') &&
    (maxVersion === 'TLSv1_3' || maxVersion === 'TLS_AUTO') &&
    cipherSuites.length === 0 &&
    ecdhCurves.length === 0
  if (!usual)
    reader?.refuse(
      { kind: 'trust', id: trust.id, hash: proxy.trust },
      '/minVersion',
      'class haproxy speaks TLS 1.2 to 1.3 with the parameters that HAProxy has; without others nothing is served or called',
    )
  return usual
}

function global(layout: string, files: readonly ConfigFile[]): Section {
  return {
    head: 'global',
    lines: [
      'default-path config',
      `description ${layout}`,
      'nbthread 2',
      'log stdout format raw local0 notice',
      // What was resumed would not be verified again.
      'tune.ssl.cachesize 0',
      'ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets',
      'ssl-default-server-options ssl-min-ver TLSv1.2 no-tls-tickets',
      `stats socket unix@${fileNames.runtime} mode 600 level admin expose-fd listeners`,
      `mworker-max-reloads ${MAX_FORMER_WORKERS}`,
      ...files.filter(({ name }) => name === fileNames.connects).map(({ name }) => `lua-load ${name}`),
    ],
  }
}

function defaults(mesh: MeshPart): Section {
  const idle = idleTimeoutMs(mesh)
  return {
    head: 'defaults',
    lines: [
      'log global',
      `timeout connect ${mesh.connectTimeoutMs}ms`,
      `timeout client ${idle}ms`,
      `timeout server ${idle}ms`,
      `timeout tunnel ${idle}ms`,
      // A caller that sends half a request holds a place for no longer.
      'timeout http-request 10s',
      'retries 3',
      'option redispatch 1',
      'http-reuse safe',
    ],
  }
}

/** Listeners that the proxy has for itself. */
function own({ listen: { admin, metrics } }: ProxyPart): readonly Section[] {
  const answers = [
    `http-request use-service prometheus-exporter if { path ${METRICS_PATH} }`,
    `http-request return status 200 content-type text/plain string ready if { path ${READY_PATH} }`,
    'http-request deny deny_status 404',
  ]
  return [
    ...(admin === undefined
      ? []
      : [{ head: 'frontend own:admin', lines: ['mode http', `bind ${socketName(admin)}`, ...answers] }]),
    ...(metrics === undefined
      ? []
      : [{ head: 'frontend own:metrics', lines: ['mode http', `bind ${socketName(metrics)}`, ...answers] }]),
  ]
}

function digest(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}\n${text}`)
  return hash.digest('base64url').slice(0, 32)
}
