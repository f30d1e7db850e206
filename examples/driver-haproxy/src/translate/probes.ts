import {
  compareText,
  hashPart,
  type PartRef,
  type ProbeBinding,
  type ProxyPart,
  refOf,
} from '@osm-ts/driver-api/policy'

import { type ConfigFile, fileNames } from './document.js'
import type { HaproxyPolicyReader } from './policy-reader.js'
import { priorKnowledge, type Section } from './section.js'
import { headerName, literal, quoted, sectionName, socketName } from './words.js'

/** What answers for a workload to those who have no certificate. */
export interface Probes {
  readonly sections: readonly Section[]
  readonly files: readonly ConfigFile[]
}

/**
 * HAProxy accepts connections whether or not the workload does, so that who only opens one learns nothing. This action opens one to the workload when it is
 * asked, sends nothing, and notes whether it could.
 */
const ACTION = `core.register_action('osm_connects', { 'http-req' }, function(txn, port, milliseconds)
  local socket = core.tcp()
  socket:settimeout(tonumber(milliseconds) / 1000)
  local connected = socket:connect('127.0.0.1', tonumber(port))
  socket:close()
  txn:set_var('txn.connected', connected == 1)
end, 2)
`

/** Listeners of a proxy's probes, one for each address, and what they ask of the workload. */
export function probeSections(proxy: ProxyPart, reader: HaproxyPolicyReader): Probes {
  if (proxy.probes.length === 0) return { sections: [], files: [] }
  const byAddress = new Map<string, { readonly probe: ProbeBinding; readonly section: string }[]>()
  const answers: Section[] = []
  const ref: PartRef = refOf(proxy, hashPart(proxy))
  const probes = [...proxy.probes].sort(
    (a, b) => compareText(a.probe, b.probe) || compareText(a.container, b.container),
  )
  for (const probe of probes) {
    const pointer = `/probes/${proxy.probes.indexOf(probe)}`
    const say = () => ({ at: socketName(probe.listen), section: answerTo(probe) })
    const answer = reader.attempt(ref, pointer, undefined, say)
    if (answer === undefined) continue
    answers.push(answer.section)
    const section = nameOf(probe)
    byAddress.set(answer.at, [...(byAddress.get(answer.at) ?? []), { probe, section }])
  }
  const listeners = [...byAddress].map(([at, group]) => listener(at, group))
  const asksByTcp = probes.some(({ target }) => target.type === 'tcp')
  return {
    sections: [...listeners, ...answers],
    files: asksByTcp ? [{ name: fileNames.connects, content: ACTION }] : [],
  }
}

function nameOf({ probe, container }: ProbeBinding): string {
  return sectionName('probe', `${probe}/${container}`)
}

function listener(at: string, group: readonly { readonly probe: ProbeBinding; readonly section: string }[]): Section {
  const head = `frontend own:probes:${at.slice(at.lastIndexOf(':') + 1)}`
  const choices = group.map(
    ({ probe, section }) => `use_backend ${section} if { pathq -m str -- ${quoted(probe.path)} } ${conditions(probe)}`,
  )
  return { head, lines: ['mode http', `bind ${at}`, ...removals, ...choices] }
}

/** Headers that applications have been known to take for a caller's identity: anyone who asks has proven none. */
const removals = ['x-forwarded-client-cert', 'serviceidentity'].map((name) => `http-request del-header ${name}`)

/** What a request must be like, beside its path without a query, to be a probe. HTTP/2 can bring a body without a word about it. */
function conditions({ target }: ProbeBinding): string {
  if (target.type === 'grpc') return '{ method POST } { req.hdr(content-type) -m beg application/grpc }'
  return '{ method GET HEAD } { fc_http_major 1 } !{ req.hdr(content-length) -m found } !{ req.hdr(transfer-encoding) -m found }'
}

function answerTo(probe: ProbeBinding): Section {
  const { target, timeoutMs } = probe
  const head = `backend ${nameOf(probe)}`
  const local = socketName({ address: '127.0.0.1', port: target.port })
  const limits = [`timeout connect ${timeoutMs}ms`, 'retries 0']
  if (target.type === 'tcp')
    return {
      head,
      lines: [
        'mode http',
        `http-request lua.osm_connects ${target.port} ${timeoutMs}`,
        'http-request return status 200 content-type text/plain string connected if { var(txn.connected) -m bool }',
        'http-request return status 503 content-type text/plain string "not connected"',
      ],
    }
  return {
    head,
    // What a former answer came by says nothing about the next one.
    lines: [
      'mode http',
      ...limits,
      `timeout server ${timeoutMs}ms`,
      'http-reuse never',
      ...asks(probe),
      `server s1 ${local}${speaks(target.type)}`,
    ],
  }
}

/** The request as the user wrote it; gRPC has one path, which the one who asks sends by itself. */
function asks({ target: { type, path = '/', headers = [] } }: ProbeBinding): readonly string[] {
  if (type === 'grpc') return []
  return [
    `http-request set-uri ${literal(path)}`,
    ...headers.map(({ name, value }) => `http-request set-header ${headerName(name)} ${literal(value)}`),
  ]
}

/** A kubelet looks at no certificate either. */
function speaks(type: ProbeBinding['target']['type']): string {
  if (type === 'https') return ' ssl verify none'
  return type === 'grpc' ? priorKnowledge('grpc') : ''
}
