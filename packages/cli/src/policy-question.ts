import { isIP } from 'node:net'

import { ownValue } from '@osm-ts/driver-api/toolkit'
import { InvalidArgumentError } from 'commander'

/** `<namespace>/<name>`. */
export interface NamedThing {
  readonly namespace: string
  readonly name: string
}

/** Who calls: a workload of the mesh by its own name or that of its account, or somebody outside by what the mesh can see of him. */
export type Caller =
  | (NamedThing & { readonly kind: 'workload' | 'service' })
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'principal'; readonly name: string }

/** A service of the mesh that is called, by one of its ports. */
export interface CalledService extends NamedThing {
  readonly port?: number
}

/** A destination outside the mesh, or a service by its host name. */
export interface CalledHost {
  readonly kind: 'outside'
  /** Absent: no protocol was given. */
  readonly protocol?: 'http' | 'https' | 'tcp'
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port?: number
}

/** What is called. */
export type Callee = (CalledService & { readonly kind: 'service' }) | CalledHost

const nameForm = /^(?<namespace>[^/:\s]+)\/(?<name>[^/:\s]+)(?::(?<port>\d{1,5}))?$/
const outsideForm =
  /^(?:(?<scheme>https?|tcp):\/\/)?(?:\[(?<bracketed>[^\]]+)\]|(?<host>[^/:\s[\]]+))(?::(?<port>\d{1,5}))?$/i
const dnsName = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*\.?$/i

/** Reads who calls. */
export function parseCaller(text: string): Caller {
  if (isIP(text) !== 0) return { kind: 'address', address: text }
  const [, kind, rest = text] = /^(service|principal):(.*)$/.exec(text) ?? []
  if (kind === 'principal' && dnsName.test(rest)) return { kind, name: rest }
  const { namespace, name, port } = nameForm.exec(rest)?.groups ?? {}
  if (kind === 'principal' || namespace === undefined || name === undefined || port !== undefined)
    throw new InvalidArgumentError(
      'write <namespace>/<service account> or <namespace>/<workload>; for callers outside an IP address, service:<namespace>/<service> or principal:<name>.',
    )
  return { kind: kind === undefined ? 'workload' : 'service', namespace, name }
}

/** Reads what is called. */
export function parseCallee(text: string): Callee {
  const { namespace, name, port: written } = nameForm.exec(text)?.groups ?? {}
  const port = portOf(written)
  if (namespace !== undefined && name !== undefined && port !== 'none')
    return { kind: 'service', namespace, name, ...(port !== undefined && { port }) }
  const outside = outsideOf(text)
  if (outside !== undefined) return outside
  throw new InvalidArgumentError(
    'write <namespace>/<service> with or without :<port>; for destinations outside <host>, <host>:<port> or <protocol>://<host>:<port>, by http, https or tcp.',
  )
}

function outsideOf(text: string): CalledHost | undefined {
  // An IPv6 address alone has colons of its own.
  if (isIP(text) === 6) return { kind: 'outside', host: text }
  const { scheme, bracketed, host = bracketed ?? '', port: written } = outsideForm.exec(text)?.groups ?? {}
  const port = portOf(written)
  if (port === 'none' || (bracketed === undefined ? !dnsName.test(host) : isIP(bracketed) !== 6)) return undefined
  const protocol = (['http', 'https', 'tcp'] as const).find((known) => known === scheme?.toLowerCase())
  // Only HTTP and TLS have their own port.
  if (protocol === 'tcp' && port === undefined) return undefined
  return { kind: 'outside', ...(protocol !== undefined && { protocol }), host, ...(port !== undefined && { port }) }
}

function portOf(text: string | undefined): number | 'none' | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  return port < 1 || port > 65_535 ? 'none' : port
}

/** Reads a name of a certificate, or a server name; a certificate may have several. */
export function parseName(text: string): string {
  if (!dnsName.test(text)) throw new InvalidArgumentError('write a DNS name, such as gateway.example.com.')
  return text
}

/** Reads an HTTP method. */
export function parseMethod(text: string): string {
  if (!/^[A-Za-z]+$/.test(text)) throw new InvalidArgumentError('write an HTTP method, such as GET.')
  return text.toUpperCase()
}

/** Reads a path. */
export function parsePath(text: string): string {
  if (!text.startsWith('/')) throw new InvalidArgumentError('write a path that starts with a slash, such as /books.')
  return text
}

/** Reads `name: value` and adds it to the headers before; a name that comes again joins its values, as HTTP does. */
export function parseHeader(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const { name, value = '' } = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(?<value>.*)$/.exec(text)?.groups ?? {}
  if (name === undefined) throw new InvalidArgumentError("write 'name: value'.")
  const key = name.toLowerCase()
  const earlier = ownValue(before, key)
  return { ...before, [key]: earlier === undefined ? value : `${earlier},${value}` }
}
