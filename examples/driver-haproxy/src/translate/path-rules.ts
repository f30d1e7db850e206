import { ESCAPED_SLASH_REFUSAL } from '@osm-ts/driver-api/policy'

/**
 * The path rule of the mesh: what two readers could read differently is answered 400, and runs of slashes are one. The expressions are this driver's own and
 * never track back: where one of them repeats, what it has taken it does not give back.
 */
const DOT_SEGMENT = String.raw`(?:^|/|%2f|%5c)(?:\.|%2e){1,2}(?:;|%3b|/|%2f|%5c|$)`

const CONTINUATION = '%[89ab][0-9a-f]'

/** Escapes that decode to UTF-8. Bytes that are not ASCII don't get past HAProxy's own parser. */
const UTF8 = `^(?:${[
  '[^%]',
  '%[0-7][0-9a-f]',
  `%(?:c[2-9a-f]|d[0-9a-f])${CONTINUATION}`,
  `%e0%[ab][0-9a-f]${CONTINUATION}`,
  `%e[1-9abcef](?:${CONTINUATION}){2}`,
  `%ed%[89][0-9a-f]${CONTINUATION}`,
  `%f0%[9ab][0-9a-f](?:${CONTINUATION}){2}`,
  `%f[1-3](?:${CONTINUATION}){3}`,
  `%f4%8[0-9a-f](?:${CONTINUATION}){2}`,
].join('|')})*+$`

const ESCAPED_SLASH = "path -m sub -i -- '%2f' '%5c'"

/**
 * Lines of a frontend.
 *
 * @param keepsEscapedSlashes - true: paths with escaped slashes are not refused
 */
export function pathRules(keepsEscapedSlashes: boolean): readonly string[] {
  return [
    String.raw`http-request deny deny_status 400 if { path -m sub -i -- '\' '#' '%00' }`,
    ...(keepsEscapedSlashes
      ? []
      : [
          `http-request deny status 400 content-type text/plain string '${ESCAPED_SLASH_REFUSAL}' if { ${ESCAPED_SLASH} }`,
        ]),
    `http-request deny deny_status 400 if { path -m reg -i '${DOT_SEGMENT}' }`,
    `http-request deny deny_status 400 unless { path -m reg -i '${UTF8}' }`,
    "http-request deny deny_status 400 if { path -m reg '^//++$' }",
    "http-request set-path '%[path,regsub(/+,/,g)]' if { path -m sub -- '//' }",
  ]
}

/** Samples of the other ways to read a path with escaped slashes: with slashes in their place, and in that, one slash for each run. */
export const pathReadings: readonly string[] = ['var(txn.plain)', 'var(txn.merged)']

/** Lines that set {@link pathReadings}; they follow the path rules. */
export const readPaths: readonly string[] = [
  'http-request set-var(txn.plain) path,regsub(%2f,/,gi),regsub(%5c,/,gi)',
  'http-request set-var(txn.merged) var(txn.plain),regsub(/+,/,g)',
]
