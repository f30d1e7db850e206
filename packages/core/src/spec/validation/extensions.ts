import { MAX_PLUGIN_BYTES } from '@osm-ts/driver-api/policy'
import { parse } from 'acorn'

import { isAddress } from '../addresses.js'
import type { Problem } from '../../problem.js'
import { sameValue } from '../content.js'
import type { SpecErrorCode } from '../error-codes.js'
import { readLogFormat } from '../log-format.js'
import type { KindMap, MeshObject } from '../objects.js'
import { isMeshWide, refusedReference } from '../reference-grant.js'
import { badDuration, doubt, fault, findings, missing, pendingFault, type CheckContext, type Finding } from './check.js'

/** PluginChains with plugins that do not exist. */
export function checkPluginChain(
  { metadata: { namespace }, spec }: KindMap['PluginChain'],
  context: CheckContext,
): readonly Finding[] {
  const { snapshot, consent } = context
  const { namespaceSelector } = spec.selectors
  const ownName = namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name'] === namespace
  const narrowed =
    namespaceSelector !== undefined && !ownName && !isMeshWide({ kind: 'PluginChain', namespace }, consent)
  const ownOnly =
    narrowed &&
    doubt(
      'OSM_SPEC_REF_NOT_PERMITTED',
      'spec.selectors.namespaceSelector',
      `selects workloads of namespace ${namespace} only; a PluginChain for other namespaces must be in namespace ${consent.osmNamespace}`,
    )
  const plugins = spec.chains.flatMap(({ plugins }, chain) =>
    plugins.flatMap((name, index) =>
      findings(
        snapshot.get('Plugin', '', name) === undefined &&
          doubt('OSM_SPEC_REFERENCE', `spec.chains[${chain}].plugins[${index}]`, missing(context, 'Plugin', '', name)),
      ),
    ),
  )
  return findings(ownOnly, plugins)
}

/** PluginConfigs for plugins or services that do not exist. */
export function checkPluginConfig(
  { metadata, spec }: KindMap['PluginConfig'],
  context: CheckContext,
): readonly Finding[] {
  const { snapshot } = context
  const from = { kind: 'PluginConfig', namespace: metadata.namespace } as const
  return findings(
    snapshot.get('Plugin', '', spec.plugin) === undefined &&
      doubt('OSM_SPEC_REFERENCE', 'spec.plugin', missing(context, 'Plugin', '', spec.plugin)),
    spec.destinationRefs.flatMap(({ namespace, name }, index) =>
      findings(
        snapshot.get('Service', namespace, name) === undefined &&
          doubt(
            'OSM_SPEC_REFERENCE',
            `spec.destinationRefs[${index}].name`,
            missing(context, 'Service', namespace, name),
          ),
        // Not a fault: it holds for what workloads of the own namespace call.
        !context.permits({ from, to: { kind: 'Service', namespace, name } }) &&
          doubt(
            'OSM_SPEC_REF_NOT_PERMITTED',
            `spec.destinationRefs[${index}].namespace`,
            refusedReference(
              { from, to: { kind: 'Service', namespace, name } },
              `only workloads of namespace ${metadata.namespace} are configured`,
            ),
          ),
      ),
    ),
  )
}

/** Plugins without a script, or with one that can't be read. It is not run. */
export function checkPlugin({ spec: { pipyscript: script } }: KindMap['Plugin']): readonly Finding[] {
  if (script.trim() === '') return [fault('OSM_SPEC_NO_EFFECT', 'spec.pipyscript', 'is empty')]
  const message = scriptFault(script)
  if (message !== undefined) return [fault('OSM_SPEC_SCRIPT', 'spec.pipyscript', message)]
  return findings(
    !exportedNames(script).some((name) => calledByPlugins.has(name)) &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.pipyscript',
        'must export at least one of the functions request, response and connection; scripts of osm-edge must be rewritten',
      ),
  )
}

/** Functions of a script that sidecars call. */
const calledByPlugins: ReadonlySet<string> = new Set(['request', 'response', 'connection'])

/**
 * The problem of an edit that leaves a Plugin with a script that cannot be read, where the version before can be: that one stays in force. Undefined for
 * any other edit.
 */
export function brokenScriptEdit(before: MeshObject, after: MeshObject): Omit<Problem, 'origin'> | undefined {
  if (before.kind !== 'Plugin' || after.kind !== 'Plugin') return undefined
  const { pipyscript } = after.spec
  if (pipyscript === before.spec.pipyscript || scriptFault(before.spec.pipyscript) !== undefined) return undefined
  const message = scriptFault(pipyscript)
  if (message === undefined) return undefined
  const code: SpecErrorCode = 'OSM_SPEC_SCRIPT'
  return {
    code,
    severity: 'error',
    message: `${message}; the last good version stays in force`,
    object: { kind: 'Plugin', namespace: after.metadata.namespace, name: after.metadata.name },
    field: 'spec.pipyscript',
  }
}

/** Why the script of a Plugin cannot be used; undefined if it can be read. */
function scriptFault(script: string): string | undefined {
  const bytes = Buffer.byteLength(script)
  return bytes > MAX_PLUGIN_BYTES
    ? `has ${bytes} bytes; at most ${MAX_PLUGIN_BYTES} go to sidecars`
    : syntaxErrorIn(script)
}

/** Names that a valid module exports by declarations and lists. */
function exportedNames(script: string): readonly string[] {
  return parse(script, { ecmaVersion: 2022, sourceType: 'module' }).body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers } = node
    const listed = specifiers.map(({ exported }) =>
      exported.type === 'Identifier' ? exported.name : String(exported.value),
    )
    if (declaration?.type === 'FunctionDeclaration') return [...listed, declaration.id.name]
    if (declaration?.type !== 'VariableDeclaration') return listed
    return [...listed, ...declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? id.name : []))]
  })
}

/** What is wrong with a module of JavaScript, with line and column; undefined for one that can be read. */
function syntaxErrorIn(script: string): string | undefined {
  try {
    parse(script, { ecmaVersion: 2022, sourceType: 'module' })
    return undefined
  } catch (error) {
    if (error instanceof SyntaxError) return `is not a JavaScript module: ${error.message}`
    throw error
  }
}

/** ServiceImports whose endpoints have no address. */
export function checkServiceImport({ spec }: KindMap['ServiceImport']): readonly Finding[] {
  return spec.ports.flatMap(({ endpoints }, port) =>
    endpoints.flatMap(({ target }, index) =>
      findings(
        !isAddress(target.ip) &&
          fault(
            'OSM_SPEC_ADDRESS',
            `spec.ports[${port}].endpoints[${index}].target.ip`,
            `${JSON.stringify(target.ip)} is not an IP address`,
          ),
      ),
    ),
  )
}

/** Telemetry with formats that can't be read, collectors that do not exist, or workloads that another one has. */
export function checkTelemetry(telemetry: KindMap['Telemetry'], context: CheckContext): readonly Finding[] {
  const { snapshot } = context
  const { accessLog, selector } = telemetry.spec
  const reference = accessLog?.openTelemetry?.extensionService
  const format = accessLog?.format === undefined ? undefined : readLogFormat(accessLog.format)
  const { namespace, name } = telemetry.metadata
  const twin = snapshot
    .byNamespace('Telemetry', namespace)
    .find((other) => sameValue(other.spec.selector ?? {}, selector ?? {}))
  return findings(
    format?.kind === 'fault' &&
      fault('OSM_SPEC_LOG_FORMAT', 'spec.accessLog.format', `${format.message}; the default format applies`),
    reference !== undefined &&
      snapshot.get('ExtensionService', reference.namespace, reference.name) === undefined &&
      pendingFault(
        'OSM_SPEC_REFERENCE',
        'spec.accessLog.openTelemetry.extensionService.name',
        missing(context, 'ExtensionService', reference.namespace, reference.name),
      ),
    twin !== undefined &&
      twin.metadata.name < name &&
      fault(
        'OSM_SPEC_CONFLICT',
        'spec.selector',
        `selects the same workloads as Telemetry ${namespace}/${twin.metadata.name}, which takes precedence`,
      ),
  )
}

/** ExtensionServices with unreadable settings. */
export function checkExtensionService({ spec }: KindMap['ExtensionService']): readonly Finding[] {
  return findings(
    badDuration(spec.connectTimeout, 'spec.connectTimeout'),
    (spec.protocol ?? '') !== '' &&
      doubt('OSM_SPEC_NO_EFFECT', 'spec.protocol', 'is ignored: logs are always sent over gRPC'),
  )
}
