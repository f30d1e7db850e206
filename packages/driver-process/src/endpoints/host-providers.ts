import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type BackoffLimits, backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import { sleepUnlessAborted } from '../host/child-process.js'
import { hostProgram } from '../load/host-drivers.js'
import { copyVerified } from '../load/package-integrity.js'
import type { ProviderEntry } from './provider-list.js'
import { type ProviderRunOptions, type ProviderSink, runProvider } from './provider-process.js'

/** What a program that hosts endpoints providers knows when it starts. */
export interface HostProvidersOptions extends Omit<ProviderRunOptions, 'entry' | 'sink' | 'folder' | 'program'> {
  readonly entries: readonly ProviderEntry[]
  /** Where the answers of a provider go. */
  readonly sink: (name: string) => ProviderSink
  /** Folder of the program, beside which that of packages lies. */
  readonly programFolder: string
  /** Milliseconds before a provider that failed is started again: at first, and at most. */
  readonly retry?: BackoffLimits
}

const RETRY = { firstMs: 1_000, lastMs: 60_000 }
/** A provider that ran for so long did not fail at its start: the delays begin again. */
const STABLE_MS = 60_000

/**
 * Runs endpoints providers, each in a process of its own, and starts each again whenever it fails. Resolves when the signal has aborted and nothing of
 * them is left.
 *
 * @throws OsmError with code `OSM_DRIVER_LOAD` if the program that serves packages is missing
 */
export async function hostProviders(options: HostProvidersOptions): Promise<void> {
  const { entries, programFolder } = options
  if (entries.length === 0) return
  const program = hostProgram(programFolder)
  const copies = await mkdtemp(join(tmpdir(), 'osm-endpoints-'))
  try {
    await Promise.all(entries.map((entry) => keepRunning(entry, { copies, program }, options)))
  } finally {
    await rm(copies, { recursive: true, force: true })
  }
}

async function keepRunning(
  entry: ProviderEntry,
  { copies, program }: { readonly copies: string; readonly program: string },
  options: HostProvidersOptions,
): Promise<void> {
  const { logger, signal, retry = RETRY } = options
  const sink = options.sink(entry.name)
  for (let failures = 1; ; failures += 1) {
    const startedAt = performance.now()
    try {
      await runProvider({ ...options, entry, sink, program, folder: await verified(entry, copies) })
      return
    } catch (error) {
      if (signal.aborted) return
      const reason = errorMessage(error)
      sink.ended(reason)
      logger.error({ provider: entry.name, reason }, 'an endpoints provider failed')
    }
    if (performance.now() - startedAt > STABLE_MS) failures = 1
    if (!(await sleepUnlessAborted(backoffMs(failures, retry, Math.random), signal))) return
  }
}

/** A copy of the package with the digest of the list, made for each start: what a run may have changed in it is gone. */
async function verified({ name, package: found }: ProviderEntry, copies: string): Promise<string | undefined> {
  if (found === undefined) return undefined
  const copy = join(copies, name)
  await rm(copy, { recursive: true, force: true })
  await copyVerified(found.path, found.integrity, copy)
  return copy
}
