import type { RawRequest } from '../differential/raw-request.js'

/** A condition of a rule for one path, and how requests may try to meet it. */
interface Condition {
  readonly path: string
  readonly header: string
  readonly pattern: string
  readonly value: string
}

/** Names that are special somewhere: to JavaScript, to HTTP/2, to CGI. */
export const conditions: readonly Condition[] = [
  { path: '/proto', header: '__proto__', pattern: 'x', value: 'x' },
  { path: '/constructor', header: 'constructor', pattern: 'x', value: 'x' },
  { path: '/to-string', header: 'toString', pattern: 'x', value: 'x' },
  { path: '/has-own', header: 'hasOwnProperty', pattern: 'x', value: 'x' },
  { path: '/role', header: 'x-role', pattern: 'reader', value: 'reader' },
  { path: '/upper', header: 'X-Role', pattern: 'reader', value: 'reader' },
  { path: '/none', header: 'x-role', pattern: '', value: '' },
  { path: '/list', header: 'x-role', pattern: 'reader,reader', value: 'reader' },
]

/** Requests for the path of each condition: some that meet it, most that look as if they did. */
export const conditionRequests: readonly RawRequest[] = conditions.flatMap(({ path, header, value }) => {
  const get = (...headers: readonly (readonly [string, string])[]): RawRequest => ({
    method: 'GET',
    target: path,
    headers,
  })
  return [
    get(),
    get([header, value]),
    get([header.toUpperCase(), value]),
    get([header.toLowerCase(), value]),
    get([header, value], [header, value]),
    get([header, value], [header, 'other']),
    get([header, 'other'], [header, value]),
    get([header, `${value}x`]),
    get([header, '']),
    get([header, ` ${value} `]),
    get([header, `${value},`]),
    get([`${header}x`, value]),
    get([`x${header}`, value]),
    get(['x-other', `${header}: ${value}`]),
    get(['connection', header.toLowerCase()], [header, value]),
  ]
})
