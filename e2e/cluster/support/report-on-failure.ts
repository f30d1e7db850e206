import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@osm-ts/driver-api/toolkit'
import { root } from '../../../tools/lib/paths.mjs'
import { noteOfFolder } from '../../../tools/reports/test-report.mjs'
import type { SharedCluster } from './shared-cluster.js'

const reports = join(root, '.cache/cluster-reports')
const lastLines = 2000

/** Writes down what runs in the cluster, what happened, and what programs said, when something fails. */
export async function reportOnFailure<T>(cluster: SharedCluster, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const folder = join(reports, fileName(what))
    await writeReport(cluster, folder, error).catch((problem: unknown) => {
      throw new AggregateError([error, problem], `${String(error)}; and no report could be written`)
    })
    throw new Error(`${errorMessage(error)}\n${noteOfFolder(folder)}`, {
      cause: error,
    })
  }
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

async function writeReport({ kubectl }: SharedCluster, folder: string, error: unknown): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'failure.txt'), `${error instanceof Error ? error.stack : String(error)}\n`)
  const keep = async (file: string, args: readonly string[]): Promise<void> => {
    const { stdout, stderr } = await kubectl.try(args)
    writeFileSync(join(folder, file), `${stdout}${stderr}`)
  }
  await keep('pods.txt', ['get', 'pods', '-A', '-o', 'wide'])
  await keep('pods.yaml', ['get', 'pods', '-A', '-o', 'yaml'])
  await keep('events.txt', ['get', 'events', '-A', '--sort-by=.lastTimestamp'])
  await keep('policies.yaml', ['get', 'meshconfigs,traffictargets,httproutegroups,trafficsplits', '-A', '-o', 'yaml'])
  const { items } = await kubectl.get<{ readonly items: readonly Pod[] }>(['pods', '-A'])
  for (const { metadata } of items) {
    const logs = ['logs', metadata.name, '-n', metadata.namespace, '--all-containers', '--prefix']
    await keep(`${metadata.namespace}.${metadata.name}.log`, [...logs, `--tail=${lastLines}`])
  }
}

function fileName(what: string): string {
  return what.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 150)
}
