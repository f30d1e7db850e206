import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import {
  ENDPOINTS_CONTRACT_VERSION,
  type EndpointsPlugin,
  type ProviderAnswer,
  type ProviderContext,
} from '@osm-ts/endpoints-api'
import { parse } from 'yaml'

const MAX_BYTES = 8 << 20
const POLL_MS = 500

/**
 * Endpoints from a file, YAML or JSON, that is followed while it changes. The file has the form of an answer: `services`, each with its `service` and
 * `instances`. The `id` of an instance defaults to its first address, `ready` to true.
 *
 * The file is looked at twice a second, which also notices files that are replaced by a rename or behind a link. A file that is missing or invalid
 * leaves the last good one in force.
 */
export const fileProvider: EndpointsPlugin = {
  name: 'file',
  contractVersion: ENDPOINTS_CONTRACT_VERSION,
  resourceKinds: [],
  settingsSchema: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: { path: { type: 'string', pattern: '^/', description: 'Absolute path of the file.' } },
  },
  async start(context) {
    // The host has checked the settings by the schema.
    const { path } = context.settings as { readonly path: string }
    return { stopped: follow(context, path) }
  },
}

async function follow(context: ProviderContext, path: string): Promise<void> {
  let known = ''
  while (!context.signal.aborted) {
    try {
      const { mtimeMs, ino, size } = await stat(path)
      const version = `${ino} ${size} ${mtimeMs}`
      if (version !== known) {
        if (size > MAX_BYTES) throw new Error(`has ${size} bytes; ${MAX_BYTES} are accepted`)
        const answer = readAnswer(await readFile(path, 'utf8'))
        known = version
        context.publish(answer)
        context.log.info('the file was read', { path, services: answer.services.length })
      }
    } catch (error) {
      known = ''
      context.report({ state: 'failing', message: `${path}: ${reasonOf(error)}`, retryInMs: POLL_MS })
    }
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => undefined)
  }
}

/** @throws Error naming the member that is invalid */
function readAnswer(text: string): ProviderAnswer {
  const value: unknown = parse(text, { maxAliasCount: 0, stringKeys: true })
  const services = isRecord(value) ? value['services'] : undefined
  if (!Array.isArray(services)) throw new Error('must have a list of services')
  return { services: services.map(readService) }
}

function readService(value: unknown, index: number): ProviderAnswer['services'][number] {
  const instances = isRecord(value) ? value['instances'] : undefined
  if (!Array.isArray(instances)) throw new Error(`services[${index}].instances must be a list`)
  // The host checks everything that a provider publishes.
  return { ...(value as ProviderAnswer['services'][number]), instances: instances.map(readInstance) }
}

function readInstance(value: unknown): ProviderAnswer['services'][number]['instances'][number] {
  const given = isRecord(value) ? value : {}
  const [address] = Array.isArray(given['addresses']) ? (given['addresses'] as readonly unknown[]) : []
  return { id: address, ready: true, ...given } as ProviderAnswer['services'][number]['instances'][number] // checked by the host
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
