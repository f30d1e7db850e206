/**
 * How text gets into haproxy.cfg. Everything that is not this driver's own passes through one of these functions; what can't be said safely is refused by
 * them, and the caller closes what depended on it.
 */

/** Text that HAProxy has no way to be told. */
export class Unsayable extends Error {}

// Lines end at line breaks, and C strings at NUL. Other control characters have no business in a name, a path or a header either.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/

/**
 * One argument of a line, whatever is in it. Inside strong quotes HAProxy takes everything literally: no escapes, no variables, no comments.
 *
 * @throws Unsayable if it holds a control character
 */
export function quoted(text: string): string {
  if (CONTROL.test(text)) throw new Unsayable('it holds a control character, which haproxy.cfg has no place for')
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Text within what HAProxy takes for a format, where a percent sign begins a sample. */
export function escaped(text: string): string {
  return text.replaceAll('%', '%%')
}

/**
 * One argument that HAProxy takes for a format, and that says nothing but this text. An empty word counts as none.
 *
 * @throws Unsayable if it holds a control character
 */
export function literal(text: string): string {
  return quoted(text === '' ? '%[str()]' : escaped(text))
}

/** Name of a section. Different ids have different names; letters, digits, `.` and `-` stay, `/` becomes `:`. */
export function sectionName(kind: string, id: string): string {
  const encoded = Array.from(id, (character) => {
    if (/[A-Za-z0-9.-]/.test(character)) return character
    return character === '/' ? ':' : `_${(character.codePointAt(0) ?? 0).toString(16)}_`
  })
  return `${kind}:${encoded.join('')}`
}

/**
 * A DNS name or IPv4 address, lower case, fit to be an unquoted word.
 *
 * @throws Unsayable if it is none
 */
export function hostName(host: string): string {
  const lower = host.toLowerCase()
  if (!/^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?$/.test(lower))
    throw new Unsayable(`${JSON.stringify(host)} is not a host name`)
  return lower
}

/**
 * Name of a header, fit to be an argument of a sample. The characters beyond these that HTTP allows have their own meaning there.
 *
 * @throws Unsayable if it holds others
 */
export function headerName(name: string): string {
  if (!/^[A-Za-z0-9_.-]+$/.test(name))
    throw new Unsayable(
      `the name of header ${JSON.stringify(name)} holds characters other than letters, digits, _, . and -`,
    )
  return name.toLowerCase()
}

/**
 * Name of a parameter of the query as an expression that matches nothing else.
 *
 * @throws Unsayable if it holds characters that have their own meaning in the argument of a sample
 */
export function parameterExpression(name: string): string {
  if (!/^[A-Za-z0-9_.~%+-]+$/.test(name))
    throw new Unsayable(
      `the name of parameter ${JSON.stringify(name)} holds characters other than letters, digits, _, ., ~, %, + and -`,
    )
  return name.replaceAll(/[.+]/g, String.raw`\$&`)
}

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)

/** True for an IPv4 address, the only family that this driver speaks. */
export function isIPv4(address: string): boolean {
  return IPV4.test(address)
}

/**
 * `address:port` of IPv4.
 *
 * @throws Unsayable if the address is another one
 */
export function socketName({ address, port }: { readonly address: string; readonly port: number }): string {
  if (!isIPv4(address))
    throw new Unsayable(`${JSON.stringify(address)} is not an IPv4 address; class haproxy speaks IPv4 only`)
  return `${address}:${port}`
}
