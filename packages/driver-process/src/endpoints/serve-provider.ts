import { resolve } from 'node:path'
import { setTimeout } from 'node:timers'
import { pathToFileURL } from 'node:url'

import { errorMessage, isRecord, Listeners } from '@osm-ts/driver-api/toolkit'
import {
  ENDPOINTS_CONTRACT_VERSION,
  type CustomResource,
  type EndpointsPlugin,
  type JsonObject,
  type ProviderContext,
  type ProviderLog,
} from '@osm-ts/endpoints-api'
import { dnsProvider, fileProvider } from '@osm-ts/endpoints-local'

import { readPackageManifest } from '../load/package-manifest.js'
import { processError } from '../wire/failure.js'
import type { FromProvider, LogLevel, ToProvider } from './messages.js'

/** Least time between two answers that are sent, in milliseconds. */
const PUBLISH_INTERVAL_MS = 100
/** Characters of an answer. It is refused here, because a host would have to read it first. */
const MAX_ANSWER_CHARACTERS = 8 << 20

interface LoadedPlugin {
  readonly plugin: EndpointsPlugin
  readonly version: string
}

/** Loads the provider of a package folder. @throws OsmError with code `OSM_ENDPOINTS_PLUGIN` */
export async function importProvider(folder: string): Promise<LoadedPlugin> {
  const { name, version, main } = await readPackageManifest(folder)
  let module: Readonly<Record<string, unknown>>
  try {
    module = (await import(pathToFileURL(resolve(folder, main)).href)) as typeof module // a module's exports
  } catch (cause) {
    throw processError('OSM_ENDPOINTS_PLUGIN', `package ${name} cannot be loaded: ${errorMessage(cause)}`)
  }
  const plugin = module['default'] ?? module['endpointsProvider']
  if (!isPlugin(plugin))
    throw processError(
      'OSM_ENDPOINTS_PLUGIN',
      `package ${name} has no endpoints provider as its default export or as endpointsProvider: an object with name, contractVersion, resourceKinds, settingsSchema and start`,
    )
  return { plugin, version }
}

/** The built-in provider of that name. @throws OsmError with code `OSM_ENDPOINTS_PLUGIN` */
export async function builtInProvider(name: string): Promise<LoadedPlugin> {
  const plugin = [dnsProvider, fileProvider].find((it) => it.name === name)
  if (plugin === undefined)
    throw processError('OSM_ENDPOINTS_PLUGIN', `there is no built-in endpoints provider ${name}`)
  return { plugin, version: 'built-in' }
}

function isPlugin(value: unknown): value is EndpointsPlugin {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    typeof value['contractVersion'] === 'number' &&
    Array.isArray(value['resourceKinds']) &&
    isRecord(value['settingsSchema']) &&
    typeof value['start'] === 'function'
  )
}

/**
 * Serves a provider to the process that has started this one, and ends with it.
 *
 * @param exit - ends this process
 */
export async function serveProvider(loading: Promise<LoadedPlugin>, exit: (code: number) => void): Promise<void> {
  const end = new AbortController()
  // The parent has ended, or wants no more of us.
  process.once('disconnect', () => exit(0))
  const resources = new HeldResources()
  const started = new Promise<JsonObject>((settle) => {
    process.on('message', (message) => {
      const told = message as ToProvider // of the same version: the host has started this program
      if (told.type === 'start') {
        resources.replace(told.resources)
        settle(told.settings)
      } else if (told.type === 'resources') resources.replace(told.resources)
      else if (told.type === 'ping') tell({ type: 'pong' })
      else end.abort()
    })
  })
  try {
    const { plugin, version } = await loading
    const { name, contractVersion, resourceKinds, settingsSchema } = plugin
    tell({ type: 'declared', declaration: { name, version, contractVersion, resourceKinds, settingsSchema } })
    const settings = await started
    const running = await plugin.start(providerContext(settings, resources, end.signal))
    tell({ type: 'started' })
    await running.stopped
    tell({ type: 'stopped' }, () => exit(0))
  } catch (error) {
    tell({ type: 'stopped', failure: errorMessage(error) }, () => exit(1))
  }
}

function tell(message: FromProvider, sent?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, sent)
}

function providerContext(settings: JsonObject, resources: HeldResources, signal: AbortSignal): ProviderContext {
  return {
    contractVersion: ENDPOINTS_CONTRACT_VERSION,
    settings,
    signal,
    log: providerLog(),
    resources: { list: () => resources.current, subscribe: (listener) => resources.changes.add(listener) },
    publish: publisher(),
    report: (health) =>
      tell({ type: 'health', ...(health.state === 'failing' && { failure: textOf(health.message) }) }),
    reportStatus: (ref, status) => tell({ type: 'status', ref, ...(status !== undefined && { status }) }),
    countCall: (operation, outcome) => tell({ type: 'called', operation, outcome }),
  }
}

class HeldResources {
  current: readonly CustomResource[] = []
  readonly changes = new Listeners()

  replace(resources: readonly CustomResource[]): void {
    this.current = resources
    this.changes.notify()
  }
}

/** Sends the newest answer, and no more than one in an interval. */
function publisher(): ProviderContext['publish'] {
  let waiting: { readonly answer: unknown } | undefined
  let isPaused = false
  const send = (): void => {
    isPaused = false
    if (waiting === undefined) return
    const { answer } = waiting
    waiting = undefined
    isPaused = true
    setTimeout(send, PUBLISH_INTERVAL_MS).unref()
    let characters: number
    try {
      characters = JSON.stringify(answer).length
    } catch (error) {
      tell({ type: 'health', failure: `the answer is not plain data: ${errorMessage(error)}` })
      return
    }
    if (characters <= MAX_ANSWER_CHARACTERS) tell({ type: 'published', answer })
    else
      tell({
        type: 'health',
        failure: `the answer has ${characters} characters as JSON; ${MAX_ANSWER_CHARACTERS} are accepted`,
      })
  }
  return (answer) => {
    waiting = { answer }
    if (!isPaused) send()
  }
}

function providerLog(): ProviderLog {
  const line =
    (level: LogLevel) =>
    (message: string, fields?: JsonObject): void =>
      tell({ type: 'logged', level, message: textOf(message), ...(isRecord(fields) && { fields }) })
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** A text, whatever a package without types has in its place, such as an error. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : errorMessage(value)
}
