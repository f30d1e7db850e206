import { InvalidArgumentError } from 'commander'

/** `<namespace>/<name>` with an optional port. */
export interface NamedThing {
  readonly namespace: string
  readonly name: string
}

const nameForm = /^(?<namespace>[^/:\s]+)\/(?<name>[^/:\s]+)(?::(?<port>\d{1,5}))?$/

/** Reads `<namespace>/<service account or workload>`. */
export function parseCaller(text: string): NamedThing {
  const { namespace, name, port } = nameForm.exec(text)?.groups ?? {}
  if (namespace === undefined || name === undefined || port !== undefined)
    throw new InvalidArgumentError('write <namespace>/<service account> or <namespace>/<workload>.')
  return { namespace, name }
}

/** Reads `<namespace>/<service>[:<port>]`. */
export function parseCallee(text: string): NamedThing & { readonly port?: number } {
  const { namespace, name, port } = nameForm.exec(text)?.groups ?? {}
  const number = port === undefined ? undefined : Number(port)
  if (namespace === undefined || name === undefined || (number !== undefined && (number < 1 || number > 65_535)))
    throw new InvalidArgumentError('write <namespace>/<service>, or <namespace>/<service>:<port>.')
  return { namespace, name, ...(number !== undefined && { port: number }) }
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
  return { ...before, [key]: key in before ? `${before[key] ?? ''},${value}` : value }
}
