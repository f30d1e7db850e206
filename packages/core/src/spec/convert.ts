import { isPlainObject } from './shape.js'
import type { Kind } from './schema/kinds.js'

/** An object as it was written, before anything is known of its members. */
export type RawObject = Readonly<Record<string, unknown>>

/**
 * Brings an older or looser form of an object into the form of its schema. Never checks: what it doesn't understand it
 * leaves alone.
 */
type Conversion = (raw: RawObject, apiVersion: string) => RawObject

/** Moves members from the top of the object into `spec`, where they were before the SMI APIs had one. */
function intoSpec(raw: RawObject, members: Readonly<Record<string, string>>): RawObject {
  const moved: [string, unknown][] = []
  const rest: [string, unknown][] = []
  for (const [name, value] of Object.entries(raw)) {
    const target = Object.hasOwn(members, name) ? members[name] : undefined
    if (target === undefined) rest.push([name, value])
    else moved.push([target, value])
  }
  const written = isPlainObject(raw.spec) ? raw.spec : {}
  return { ...Object.fromEntries(rest), spec: { ...Object.fromEntries(moved), ...written } }
}

function mapSpec(raw: RawObject, change: (spec: RawObject) => RawObject): RawObject {
  return isPlainObject(raw.spec) ? { ...raw, spec: change(raw.spec) } : raw
}

function mapMember(object: RawObject, name: string, change: (value: unknown) => unknown): RawObject {
  return Object.hasOwn(object, name) ? { ...object, [name]: change(object[name]) } : object
}

function mapItems(value: unknown, change: (item: RawObject) => RawObject): unknown {
  return Array.isArray(value) ? value.map((item: unknown) => (isPlainObject(item) ? change(item) : item)) : value
}

function rename(object: RawObject, from: string, to: string): RawObject {
  if (!Object.hasOwn(object, from)) return object
  const { [from]: value, ...rest } = object
  return Object.hasOwn(rest, to) ? rest : { ...rest, [to]: value }
}

const version = (apiVersion: string): string => apiVersion.slice(apiVersion.lastIndexOf('/') + 1)

function trafficTarget(raw: RawObject, apiVersion: string): RawObject {
  if (version(apiVersion) !== 'v1alpha1') return raw
  return intoSpec(raw, { destination: 'destination', specs: 'rules', sources: 'sources' })
}

function httpRouteGroup(raw: RawObject, apiVersion: string): RawObject {
  const old = version(apiVersion) === 'v1alpha1' || version(apiVersion) === 'v1alpha2'
  const withSpec = old ? intoSpec(raw, { matches: 'matches' }) : raw
  return mapSpec(withSpec, (spec) =>
    mapMember(spec, 'matches', (matches) => mapItems(matches, (match) => mapMember(match, 'headers', headerList))),
  )
}

/** One map, or a list of maps, becomes a list of maps with one entry each; of equal names the last holds. */
function headerList(headers: unknown): unknown {
  const maps: readonly unknown[] = Array.isArray(headers) ? headers : [headers]
  if (!maps.every(isPlainObject)) return headers
  const merged = new Map(maps.flatMap((map) => Object.entries(map)))
  return [...merged].map(([name, value]) => Object.fromEntries([[name, value]]))
}

function trafficSplit(raw: RawObject, apiVersion: string): RawObject {
  if (version(apiVersion) !== 'v1alpha1') return raw
  return mapSpec(raw, (spec) => mapMember(spec, 'backends', quantityWeights))
}

/**
 * v1alpha1 wrote weights as quantities: `1` was `1000m`. When any of them has the unit, all are counted in thousandths.
 */
function quantityWeights(backends: unknown): unknown {
  if (!Array.isArray(backends)) return backends
  const isMilli = (weight: unknown): weight is string => typeof weight === 'string' && /^\d{1,12}m$/.test(weight)
  const anyMilli = backends.some((backend) => isPlainObject(backend) && isMilli(backend.weight))
  if (!anyMilli) return backends
  return mapItems(backends, (backend) =>
    mapMember(backend, 'weight', (weight) => {
      if (isMilli(weight)) return Number(weight.slice(0, -1))
      const whole = typeof weight === 'string' && /^\d{1,12}$/.test(weight) ? Number(weight) : weight
      return typeof whole === 'number' ? whole * 1000 : whole
    }),
  )
}

/**
 * The Windows image was spelled in four ways: in the CRD, in the Go types of two versions, and in the driver entries.
 */
function meshConfig(raw: RawObject): RawObject {
  const windowsImage = (object: RawObject): RawObject =>
    ['SidecarImageWindowsImage', 'sidecarImageWindowsImage', 'sideWindowsImage'].reduce(
      (renamed, spelling) => rename(renamed, spelling, 'sidecarWindowsImage'),
      object,
    )
  return mapSpec(raw, (spec) =>
    mapMember(spec, 'sidecar', (sidecar) =>
      isPlainObject(sidecar)
        ? mapMember(windowsImage(sidecar), 'sidecarDrivers', (drivers) => mapItems(drivers, windowsImage))
        : sidecar,
    ),
  )
}

const conversions: Partial<Record<Kind, Conversion>> = {
  TrafficTarget: trafficTarget,
  HTTPRouteGroup: httpRouteGroup,
  TrafficSplit: trafficSplit,
  MeshConfig: meshConfig,
}

/** The object in the form of the current version of its kind. */
export function convert(kind: Kind, apiVersion: string, raw: RawObject): RawObject {
  return conversions[kind]?.(raw, apiVersion) ?? raw
}
