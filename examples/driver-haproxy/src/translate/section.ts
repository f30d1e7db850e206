import type { MeshPart, Protocol } from '@osm-ts/driver-api/policy'

const IDLE_FOREVER_MS = 24 * 60 * 60 * 1000

/** A section of haproxy.cfg: its first line, and the lines in it. */
export interface Section {
  readonly head: string
  readonly lines: readonly string[]
}

/** Sections as text. */
export function sectionText(sections: readonly Section[]): string {
  return sections.map(({ head, lines }) => [head, ...lines.map((line) => `  ${line}`), ''].join('\n')).join('\n')
}

/** True where requests are checked. */
export function speaksHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}

/** What a listener or server is told so that it speaks HTTP/2 from the first byte. */
export function priorKnowledge(protocol: Protocol): string {
  return protocol === 'http2' || protocol === 'grpc' ? ' proto h2' : ''
}

/** How long a connection may be idle, in milliseconds. HAProxy has one bound for both kinds: the longer one, so that it ends nothing early. */
export function idleTimeoutMs({ tcpIdleTimeoutMs, streamIdleTimeoutMs }: MeshPart): number {
  return Math.min(tcpIdleTimeoutMs, streamIdleTimeoutMs) > 0
    ? Math.max(tcpIdleTimeoutMs, streamIdleTimeoutMs)
    : IDLE_FOREVER_MS
}
