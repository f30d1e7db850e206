import { setTimeout as delay } from 'node:timers/promises'
import { types } from 'node:util'
import { OsmError } from '@osm-ts/driver-api'
import { listEtcFolders, removeEtcFolder } from './etc-folder.js'
import { parseNamespace, routeProtocol, type MeshNames, type ParsedNamespace } from './mesh-names.js'
import { parseOwnerMetric, type Owner, isOwnerRunning } from './owner.js'
import { listByIp, runTool } from './run-tool.js'

interface NamedTrace extends ParsedNamespace {
  readonly kind: 'namespace' | 'folder'
  readonly name: string
}

/** One thing that a mesh network has on the host, with the process that made it. */
export type Trace =
  | NamedTrace
  | { readonly kind: 'link'; readonly name: string; readonly owner: Owner; readonly names: MeshNames }
  | { readonly kind: 'route'; readonly range: string; readonly metric: number; readonly owner: Owner }

const killDeadlineMs = 5000
const killPollMs = 20

/** Finds what mesh networks of any process have left on this host. */
export async function findTraces(): Promise<readonly Trace[]> {
  const [namespaceList, linkList, routeList] = await Promise.all([
    listByIp(['netns', 'list']),
    listByIp(['link', 'show', 'type', 'veth']),
    listByIp(['-4', 'route', 'show', 'table', 'main', 'proto', routeProtocol]),
  ])
  const namespaces = namespaceList.flatMap(({ name }) => namedTraces('namespace', String(name)))
  const folders = listEtcFolders().flatMap((name) => namedTraces('folder', name))
  const linkNames = new Set(linkList.map(({ ifname }) => ifname))
  // A link has no more than its short name to tell that it is ours, so it counts only beside its namespace; without that, it is gone anyway.
  const links = namespaces.flatMap((trace): readonly Trace[] => {
    const name = trace.names.hostLink
    return trace.isSwitch && linkNames.has(name) ? [{ kind: 'link', name, owner: trace.owner, names: trace.names }] : []
  })
  return [
    ...links,
    ...namespaces,
    ...folders,
    ...routeList.filter(({ type }) => type === 'blackhole').map(traceOfRoute),
  ]
}

function namedTraces(kind: 'namespace' | 'folder', name: string): readonly NamedTrace[] {
  const parsed = parseNamespace(name)
  return parsed === undefined ? [] : [{ kind, name, ...parsed }]
}

function traceOfRoute({ dst, metric }: Readonly<Record<string, unknown>>): Trace {
  const value = Number(metric)
  return { kind: 'route', range: String(dst), metric: value, owner: parseOwnerMetric(value) }
}

/**
 * Removes traces, each regardless of whether another could be removed.
 *
 * @throws OsmError OSM_NETNS_LEFTOVER that names what is left
 */
export async function removeTraces(traces: readonly Trace[]): Promise<void> {
  const results = await Promise.allSettled(traces.map(removeTrace))
  const failures = results.flatMap((result): readonly unknown[] =>
    result.status === 'rejected' ? [result.reason] : [],
  )
  if (failures.length === 0) return
  const said = failures.map((failure) => (types.isNativeError(failure) ? failure.message : String(failure)))
  throw new OsmError('OSM_NETNS_LEFTOVER', `could not remove everything of a mesh network: ${said.join('; ')}`, {
    cause: failures[0],
  })
}

async function removeTrace(trace: Trace): Promise<void> {
  switch (trace.kind) {
    case 'namespace':
      await endProcesses(trace.name)
      return removeUnlessGone(['netns', 'delete', trace.name], async () =>
        (await listByIp(['netns', 'list'])).every(({ name }) => name !== trace.name),
      )
    case 'link':
      return removeUnlessGone(['link', 'delete', trace.name], async () =>
        (await listByIp(['link', 'show'])).every(({ ifname }) => ifname !== trace.name),
      )
    case 'route': {
      const metric = String(trace.metric)
      const route = ['blackhole', trace.range, 'proto', routeProtocol, 'metric', metric]
      const listing = [
        '-4',
        'route',
        'show',
        'table',
        'main',
        'exact',
        trace.range,
        'proto',
        routeProtocol,
        'metric',
        metric,
      ]
      return removeUnlessGone(['route', 'delete', ...route], async () => (await listByIp(listing)).length === 0)
    }
    case 'folder':
      removeEtcFolder(trace.name)
  }
}

/** Removing one part takes others with it, and two sweeps may meet: what is gone already counts as removed. */
async function removeUnlessGone(args: readonly string[], isGone: () => Promise<boolean>): Promise<void> {
  try {
    await runTool('ip', args)
  } catch (error) {
    if (!(await isGone())) throw error
  }
}

/** Ends the processes in a namespace, which would keep it alive without a name. */
async function endProcesses(namespace: string): Promise<void> {
  const deadline = AbortSignal.timeout(killDeadlineMs)
  for (let pids = await processesIn(namespace); pids.length > 0; pids = await processesIn(namespace)) {
    if (deadline.aborted) {
      throw new OsmError('OSM_NETNS_LEFTOVER', `processes in ${namespace} do not end: ${pids.join(', ')}`)
    }
    for (const pid of pids) killIfRunning(pid)
    await delay(killPollMs)
  }
}

async function processesIn(namespace: string): Promise<readonly number[]> {
  const output = await runTool('ip', ['netns', 'pids', namespace]).catch(() => '')
  return output.split('\n').flatMap((line) => (line === '' ? [] : [Number(line)]))
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

/**
 * Removes mesh networks whose process has ended without destroying them, and ends what still runs in them.
 *
 * Processes are looked up in this process's own /proc: it is not meant for a container that shares the network of its host.
 *
 * @returns the network namespaces that were removed
 */
export async function sweepMeshNetworks(): Promise<readonly string[]> {
  const traces = (await findTraces()).filter((trace) => !isOwnerRunning(trace.owner))
  await removeTraces(traces)
  return traces.flatMap((trace) => (trace.kind === 'namespace' ? [trace.name] : [])).sort()
}
