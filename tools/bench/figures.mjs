/**
 * A number of a report of the benchmarks, and where it stands.
 * @typedef {{ readonly path: string, readonly value: number }} Figure
 */

/** Members that tell elements of a list apart, and say of how much they are. */
const sizes = ['services', 'clients', 'affected', 'kind', 'size', 'name', 'driver', 'perSecond', 'strangers', 'proxies']
/** What says how something was measured, and not what came of it. */
const settings = new Set(['machine', 'quick', 'count', 'seconds'])

/**
 * All numbers of a report, by their paths, such as `scale.endpointChange[affected=100].change.p50`.
 * @param {unknown} report
 * @returns {readonly Figure[]}
 */
export function figuresOf(report) {
  return collect(report, '')
}

/**
 * @param {unknown} value
 * @param {string} path
 * @returns {readonly Figure[]}
 */
function collect(value, path) {
  if (typeof value === 'number') return [{ path, value }]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value))
    return value.flatMap((element, index) => collect(element, `${path}[${labelOf(element) ?? index}]`))
  return Object.entries(value)
    .filter(([name]) => !settings.has(name))
    .flatMap(([name, inner]) => collect(inner, path === '' ? name : `${path}.${name}`))
}

/** @param {unknown} element */
function labelOf(element) {
  if (typeof element !== 'object' || element === null) return undefined
  const record = /** @type {Readonly<Record<string, unknown>>} */ (element)
  const name = sizes.find((size) => ['string', 'number'].includes(typeof record[size]))
  return name === undefined ? undefined : `${name}=${String(record[name])}`
}
