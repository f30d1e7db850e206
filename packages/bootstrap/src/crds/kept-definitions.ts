import type { Clock } from '@osm-ts/core'
import { type CustomResourceDefinition, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import type { Logger } from '@osm-ts/driver-api'

import type { BootstrapErrorCode } from '../error-codes.js'
import type { KeptObject } from '../reconcile/kept-object.js'
import type { Reconciler } from '../reconcile/reconciler.js'
import { applyDefinition, definitionFingerprint, untilEstablished } from './apply-definition.js'
import { isForeign, missingVersions } from './merge-definition.js'

/** What {@link keptDefinitions} are made of. */
export interface KeptDefinitionsOptions {
  readonly api: KubernetesApi
  readonly definitions: readonly CustomResourceDefinition[]
  readonly enableReconciler: boolean
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (reason: string, message: string) => void
  /** How to make the MeshConfig again that went with its definition; undefined where that comes later anyway. */
  readonly meshConfig: () => ((signal: AbortSignal) => Promise<void>) | undefined
}

/** The definitions of all kinds of the mesh. */
export function keptDefinitions(options: KeptDefinitionsOptions): readonly KeptObject[] {
  const { api, clock } = options
  return options.definitions.map((definition) => {
    const { name } = definition.metadata
    return {
      type: resourceTypes.CustomResourceDefinition,
      name,
      fingerprint: definitionFingerprint,
      write: async (signal) => {
        const stored = await applyDefinition(api, definition, options.enableReconciler, signal)
        if (isForeign(stored)) tellForeign(options, definition, missingVersions(definition, stored))
        return stored
      },
      afterWrite: async (signal) => {
        const meshConfig = definition.spec.names.kind === 'MeshConfig' ? options.meshConfig() : undefined
        if (meshConfig === undefined) return
        await untilEstablished(api, name, clock, signal)
        await meshConfig(signal)
      },
    }
  })
}

/** Brings in all definitions and resolves when the API server serves them. */
export async function bringInDefinitions(
  reconciler: Reconciler,
  definitions: readonly KeptObject[],
  { api, clock }: { readonly api: KubernetesApi; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await inParallel(definitions, (definition) => reconciler.write(definition, signal))
  await inParallel(definitions, ({ name }) => untilEstablished(api, name, clock, signal))
}

/** Requests under way at one time: definitions are large, and API servers of small clusters are small. */
const PARALLEL = 4

async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values()
  const worker = async (): Promise<void> => {
    for (const item of rest) await run(item)
  }
  const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, worker))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

function tellForeign(
  { logger, report }: KeptDefinitionsOptions,
  definition: CustomResourceDefinition,
  missing: readonly string[],
): void {
  const { name } = definition.metadata
  if (missing.length === 0) {
    logger.info({ name }, 'a definition belongs to another tool and is used as it is')
    return
  }
  const code: BootstrapErrorCode = 'OSM_BOOTSTRAP_CRD_FOREIGN'
  logger.error({ name, code, missing }, 'a definition belongs to another tool and lacks what the mesh reads')
  report(
    'DefinitionOfAnotherTool',
    `CustomResourceDefinition ${name} belongs to another tool and lacks ${missing.join(', ')}; label it app.kubernetes.io/name=openservicemesh.io to have it replaced [${code}]`,
  )
}
