import type { ProxyPart, SocketAddress } from '@osm-ts/driver-api/policy'

import { type ConfigFile, fileNames } from './document.js'
import { wayName, wayTo } from './listening.js'
import type { Section } from './section.js'
import { hostName, quoted, socketName } from './words.js'

/** Longer than any caller takes for the beginning of a handshake; a connection that says nothing holds a place for no longer. */
const HELLO_TIMEOUT_MS = 10_000

/** A section behind the listener of redirected connections to the workload. */
export interface RedirectedPort {
  /** Name of the section. */
  readonly section: string
  /** Port of the workload that callers dialled. */
  readonly port: number
  /** Names of services under which callers know it. */
  readonly serverNames: readonly string[]
}

/**
 * The listener that the kernel redirects connections to: to the workload. The port that was dialled and the name in the beginning of the handshake tell whose
 * they are; HAProxy asks the kernel for the former, which it can for IPv4. What is for no one is closed.
 */
export function redirectedIn({ listen }: ProxyPart, all: readonly RedirectedPort[]): readonly Section[] {
  if (listen.inbound === undefined) return []
  const ports = all.filter(({ serverNames }) => serverNames.length > 0)
  const numbers = [...new Set(ports.map(({ port }) => port))].sort((a, b) => a - b)
  const choices = ports.map(({ section, port, serverNames }) => {
    const names = serverNames.map((name) => quoted(hostName(name))).join(' ')
    return `use_backend ${wayName(section)} if { dst_port ${port} } { req.ssl_sni -m str -i -- ${names} }`
  })
  return [
    {
      head: 'frontend in:redirected',
      lines: [
        ...listener(listen.inbound),
        ...(numbers.length === 0
          ? ['tcp-request connection reject']
          : [
              `tcp-request connection reject unless { dst_port ${numbers.join(' ')} }`,
              `tcp-request inspect-delay ${HELLO_TIMEOUT_MS}ms`,
              'tcp-request content reject unless { req.ssl_sni -m found }',
              ...choices,
              'default_backend answer:nobody',
            ]),
      ],
    },
    ...(numbers.length === 0 ? [] : [nobody]),
    ...ports.map(({ section }) => wayTo(section)),
  ]
}

/** Where connections of the workload go that it opened to an address. */
export interface RedirectedCall {
  /** The address that the workload dials. */
  readonly at: SocketAddress
  /** Name of the section that gets them. */
  readonly to: string
}

/**
 * The listener that the kernel redirects connections to: those of the workload. What was dialled tells where they go. Nothing is ever sent to where it was
 * dialled, so that no connection leads back here, and what the mesh does not know is closed.
 */
export function redirectedOut(
  { listen }: ProxyPart,
  calls: readonly RedirectedCall[],
  behind: readonly string[],
): { readonly sections: readonly Section[]; readonly files: readonly ConfigFile[] } {
  if (listen.outbound === undefined) return { sections: [], files: [] }
  const lines = calls.map(({ at, to }) => `${socketName(at)} ${to}\n`)
  return {
    sections: [
      {
        head: 'frontend out:redirected',
        lines: [
          ...listener(listen.outbound),
          'tcp-request connection set-var(sess.port) dst_port',
          `tcp-request connection set-var(sess.to) dst,concat(:,sess.port),map_str(${fileNames.addresses})`,
          'tcp-request connection reject unless { var(sess.to) -m found }',
          'use_backend %[var(sess.to)]',
        ],
      },
      ...behind.map(wayTo),
    ],
    files: [{ name: fileNames.addresses, content: lines.sort().join('') }],
  }
}

/** Takes what no section is for, and closes it. */
const nobody: Section = { head: 'backend answer:nobody', lines: ['mode tcp', 'tcp-request content reject'] }

function listener(listen: SocketAddress): readonly string[] {
  return ['mode tcp', `bind ${socketName(listen)}`]
}
