/** A value of the chart, as tools/chart reads it. */
interface ChartValue {
  readonly path: string
  readonly form: string | undefined
  readonly refinement: Readonly<Record<string, unknown>> | undefined
  readonly default: unknown
}

const samples: Readonly<Record<string, unknown>> = {
  free: { sample: 'sample' },
  objects: [{ sample: 'sample' }],
  labels: { sample: 'sample' },
  resources: { limits: { memory: '77Mi' } },
  ports: [7777],
  cidrs: ['7.7.7.0/24'],
  fraction: '0.7',
  duration: '77s',
  digest: `sha256:${'7'.repeat(64)}`,
  sidecarLogLevel: 'trace',
  sidecarLogLevelOrEmpty: 'trace',
  sidecarDrivers: [{ sidecarName: 'envoy', proxyServerPort: 7777 }],
  pluginChains: { 'inbound-tcp': [] },
}

/** Values whose lists hold something that the default, an empty list, does not tell. */
const lists: Readonly<Record<string, unknown>> = {
  'osm.imagePullSecrets': [{ name: 'sample' }],
  'osm.driverPackages': ['sample'],
  'osm.networkInterfaceExclusionList': ['net7'],
}

/** A value that is allowed, and is not the default. */
export function otherValue({ path, form, refinement, default: given }: ChartValue): unknown {
  if (form !== undefined && form in samples) return samples[form]
  if (path in lists) return lists[path]
  const words = refinement?.enum
  if (Array.isArray(words)) return words.findLast((word) => word !== given)
  if (typeof given === 'boolean') return !given
  if (typeof given === 'number') return refinement?.maximum === given ? given - 1 : given + 1
  // Every form of name takes it.
  if (typeof given === 'string') return 'sample'
  throw new Error(`no other value for ${path}`)
}
