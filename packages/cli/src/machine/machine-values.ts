import { isIP } from 'node:net'

import { InvalidArgumentError } from 'commander'

/** A port of the workload, as callers see it, and where its process listens. */
export interface MachinePort {
  readonly name?: string
  readonly port: number
  readonly localPort?: number
}

/** The same as in core, which is too large to be read for options. */
const LABEL = /^([A-Za-z0-9][\w./-]{0,252})=([A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?|)$/
const PORT = /^(?:([a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?)=)?(\d{1,5})(?::(\d{1,5}))?$/
const DURATION = /^(\d+)(s|m|h)$/
const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
])
const MAX_TTL_MS = 168 * 3_600_000

/** `key=value`, added to those that were given before. */
export function parseLabel(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, key, value] = LABEL.exec(text) ?? []
  if (key === undefined || value === undefined) throw new InvalidArgumentError('It must be a label, such as app=store.')
  return { ...before, [key]: value }
}

/** `8080`, `8080:18080` or `web=8080:18080`, added to those that were given before. */
export function parsePort(text: string, before: readonly MachinePort[] = []): readonly MachinePort[] {
  const [, name, , port = '', localPort] = PORT.exec(text) ?? []
  const numbers = [port, localPort ?? port].map(Number)
  if (!numbers.every((number) => number >= 1 && number <= 65_535))
    throw new InvalidArgumentError('It must be a port, such as 8080, 8080:18080 or web=8080.')
  return [
    ...before,
    {
      ...(name !== undefined && { name }),
      port: Number(port),
      ...(localPort !== undefined && { localPort: Number(localPort) }),
    },
  ]
}

/** `15100-15999`. */
export function parseRange(text: string): { readonly first: number; readonly last: number } {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  if (range.first >= 1 && range.last <= 65_535 && range.first < range.last) return range
  throw new InvalidArgumentError('It must be a range of ports, such as 15100-15999.')
}

/** `22,5432`, added to those that were given before. */
export function parsePorts(text: string, before: readonly number[] = []): readonly number[] {
  const ports = text.split(',').map((port) => (/^\d{1,5}$/.test(port) ? Number(port) : 0))
  if (ports.every((port) => port >= 1 && port <= 65_535)) return [...before, ...ports]
  throw new InvalidArgumentError('It must be a list of ports, such as 22,5432.')
}

/** `10.0.0.0/8,fd00::/8`, added to those that were given before. */
export function parseRanges(text: string, before: readonly string[] = []): readonly string[] {
  const ranges = text.split(',')
  if (ranges.every(isRange)) return [...before, ...ranges]
  throw new InvalidArgumentError('It must be a list of address ranges, such as 10.0.0.0/8,192.0.2.7/32.')
}

/** A user id, not that of root. */
export function parseUid(text: string): number {
  const uid = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (uid >= 1 && uid <= 0xfffffffe) return uid
  throw new InvalidArgumentError('It must be a user id from 1 to 4294967294, such as 1500.')
}

function isRange(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/')
  const bits = isIP(address) === 6 ? 128 : 32
  return isIP(address) !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
}

/** `90s`, `10m`, `1h`, in milliseconds. */
export function parseTtl(text: string): number {
  const [, number, unit] = DURATION.exec(text) ?? []
  const ttl = Number(number) * (UNITS.get(unit ?? '') ?? Number.NaN)
  if (ttl >= 1_000 && ttl <= MAX_TTL_MS) return ttl
  throw new InvalidArgumentError('It must be a duration from 1s to 168h, such as 10m.')
}

/** An IP address. */
export function parseAddress(text: string): string {
  if (isIP(text) !== 0) return text
  throw new InvalidArgumentError('It must be an IP address.')
}

/** A gateway between networks. */
export interface MachineGateway {
  readonly address: string
  /** Absent: it listens on the ports of Services. */
  readonly port?: number
}

/** `203.0.113.5`, `203.0.113.5:15443`, `2001:db8::5` or `[2001:db8::5]:15443`. */
export function parseGateway(text: string): MachineGateway {
  if (isIP(text) !== 0) return { address: text }
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  const address = bracketed ?? plain ?? ''
  if (isIP(address) === (bracketed === undefined ? 4 : 6) && port >= 1 && port <= 65_535) return { address, port }
  throw new InvalidArgumentError('It must be an IP address with or without a port, such as 203.0.113.5:15443.')
}

/** The text of a gateway, as {@link parseGateway} reads it. */
export function gatewayText({ address, port }: MachineGateway): string {
  if (port === undefined) return address
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
}

/** `https://host:port`. */
export function parseControlPlane(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '') return url
  throw new InvalidArgumentError('It must be https://<host>:<port>, as osm machine token prints it.')
}

/** `http://host[:port]`. */
export function parseMetadata(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' && url.pathname === '/' && url.search === '' && url.username === '') return url
  throw new InvalidArgumentError('It must be http://<host>, such as http://169.254.169.254.')
}
