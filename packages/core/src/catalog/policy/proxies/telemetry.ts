import {
  canonicalJson,
  compareText,
  type AccessLog,
  type MeshPart,
  type OpenTelemetryAccessLog,
} from '@osm-ts/driver-api/policy'
import { ownValue } from '@osm-ts/driver-api/toolkit'

import { parseDuration } from '../../../config/index.js'
import { readLogFormat, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs, settingInputs, telemetriesInNamespace } from '../../inputs/inputs.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import { meshPart } from '../parts/mesh-parts.js'
import { keepPart, makePart, samePart, type PolicyPart } from '../parts/policy-part.js'

type Context = QueryContext<CatalogState>
type Instance = KindMap['WorkloadInstance']
type OpenTelemetrySpec = NonNullable<NonNullable<KindMap['Telemetry']['spec']['accessLog']>['openTelemetry']>

/** The Telemetry of a workload: one that selects it before one for all of its namespace, then the first by name. */
const telemetryOfInstance = defineQuery<CatalogState, NamespacedName, NamespacedName | undefined>({
  name: 'telemetry-of-instance',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const names = context.get(telemetriesInNamespace, key.namespace)
    if (names.length === 0) return undefined
    const labels = context.get(objectInputs.WorkloadInstance, key)?.metadata.labels ?? {}
    const selectors = names.map((name) => ({
      name,
      selector: context.get(objectInputs.Telemetry, name)?.spec.selector,
    }))
    const selects = ({ selector = {} }: (typeof selectors)[number]): boolean =>
      Object.entries(selector).every(([label, value]) => ownValue(labels, label) === value)
    const isForAll = ({ selector = {} }: (typeof selectors)[number]): boolean => Object.keys(selector).length === 0
    const found = selectors.find((each) => !isForAll(each) && selects(each)) ?? selectors.find(isForAll)
    return found?.name
  },
})

/** The access log that a Telemetry asks for; undefined if there is none of that name, or it says nothing of it. */
const accessLogOf = defineQuery<CatalogState, NamespacedName, AccessLog | undefined>({
  name: 'access-log-of',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    const accessLog = context.get(objectInputs.Telemetry, name)?.spec.accessLog
    if (accessLog === undefined) return undefined
    const usual = context.get(settingInputs.mesh, '').accessLog
    // The checks of the specification say what is wrong with one that can't be read.
    const format = accessLog.format === undefined ? undefined : readLogFormat(accessLog.format)
    const openTelemetry = accessLog.openTelemetry && collector(context, accessLog.openTelemetry)
    return {
      ...usual,
      ...(format === undefined || format.kind === 'fault' ? {} : { format: format.kind, template: format.template }),
      ...(openTelemetry === undefined ? {} : { openTelemetry }),
    }
  },
})

function collector(
  context: Context,
  { extensionService, attributes = {} }: OpenTelemetrySpec,
): OpenTelemetryAccessLog | undefined {
  const service = context.get(objectInputs.ExtensionService, extensionService)?.spec
  if (service === undefined) return undefined
  const connectTimeoutMs = service.connectTimeout === undefined ? undefined : parseDuration(service.connectTimeout)
  return {
    host: service.host,
    port: service.port,
    ...(connectTimeoutMs !== undefined && connectTimeoutMs > 0 ? { connectTimeoutMs } : {}),
    attributes: Object.entries(attributes)
      .filter(([key]) => key !== '')
      .sort(([a], [b]) => compareText(a, b))
      .map(([key, value]) => ({ key, value })),
  }
}

/**
 * The `mesh` part with another access log, by its canonical JSON: whichever Telemetry requests it, equal settings are one part. So no Telemetry is named
 * as its origin.
 */
const meshPartWith = defineQuery<CatalogState, string, PolicyPart<MeshPart>>({
  name: 'mesh-part-with',
  keyOf: textKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, text) => {
    const usual = context.get(meshPart, '')
    return makePart<MeshPart>({ ...usual.part, accessLog: JSON.parse(text) as AccessLog }, { origins: usual.origins })
  },
})

/** Settings of one proxy. */
export function meshPartOf(context: Context, { metadata }: Instance): PolicyPart<MeshPart> {
  const telemetry = context.get(telemetryOfInstance, { namespace: metadata.namespace, name: metadata.name })
  const accessLog = telemetry && context.get(accessLogOf, telemetry)
  if (accessLog === undefined) return context.get(meshPart, '')
  const text = canonicalJson(accessLog)
  return text === canonicalJson(context.get(settingInputs.mesh, '').accessLog)
    ? context.get(meshPart, '')
    : context.get(meshPartWith, text)
}
