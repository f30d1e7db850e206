import { ipOctets } from '@osm-ts/driver-api/toolkit'

/** A server, as people write it. */
export interface HostPort {
  readonly host: string
  /** Absent if none is written. */
  readonly port?: number
}

/** What {@link parseHostPort} reads, for messages. */
export const hostPortForm =
  'a host name or an IP address, with a port or without, such as jaeger.tracing or jaeger.tracing:9411'

/** Reads `host`, `host:port`, `address`, `[address]:port`. Undefined for anything else, such as a URL. */
export function parseHostPort(text: string): HostPort | undefined {
  if (ipOctets(text) !== undefined) return { host: text }
  const { host, bracketed, port } =
    /^(?:\[(?<bracketed>[^\]]*)\]|(?<host>[\w.-]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups ?? {}
  const address = bracketed !== undefined && ipOctets(bracketed) !== undefined ? bracketed : undefined
  const found = host ?? address
  if (found === undefined) return undefined
  if (port === undefined) return { host: found }
  const number = Number(port)
  return number >= 1 && number <= 65_535 ? { host: found, port: number } : undefined
}
