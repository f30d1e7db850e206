import type { DriverState } from '@osm-ts/core'
import type { Command } from 'commander'

import { wantsColor } from '../cli-context.js'
import {
  clusterDrivers,
  clusterInjectorDrivers,
  type ControllerDrivers,
  type InjectorDrivers,
} from '../kubernetes/cluster-debug.js'
import { usesCluster } from '../kubernetes/cluster-options.js'
import { outputOption, toJson } from '../output/format.js'
import { type Emphasis, span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import { debugApi } from '../state/debug-api.js'
import { toText, type CommandHost, exitCodes } from './cli-command.js'
import {
  meshSourceHelp,
  type MeshSource,
  meshSourceOf,
  namespaceOption,
  type MeshSourceFlags,
  stateOption,
} from './mesh-source.js'

/** States that need no action. */
const CALM: ReadonlySet<DriverState['state']> = new Set(['ready', 'starting', 'not-allowed'])
const COLUMNS = ['CLASS', 'VERSION', 'CONTRACT', 'ORIGIN', 'STATE', 'RESTARTS', 'ON FAILURE']
/** What a driver can do: more than most terminals have room for. */
const WIDE_COLUMNS = [...COLUMNS, 'PROTOCOLS', 'FEATURES']

/** `osm driver list` */
export function addDriverList(parent: Command, host: CommandHost): void {
  const { context, onExit } = host
  usesCluster(parent.command('list'))
    .description('list the sidecar classes of the controllers and injectors, and the state of their drivers')
    .addOption(stateOption())
    .addOption(namespaceOption())
    .addOption(outputOption(['table', 'wide', 'json']))
    .addHelpText(
      'after',
      `
With -o wide the table includes the capabilities of each driver. The reasons why drivers are not ready are listed below the table.
circuit-open: its process failed and is restarted after a delay. not-started: its start failed and is retried. loading: it could not be loaded yet
and is retried. refused: it is not loaded. not-allowed: MeshConfig did not list the class when the controller started.
${meshSourceHelp}

The exit code is 1 if a driver is refused, has ended, or fails.`,
    )
    .action(async (flags: MeshSourceFlags & { readonly output: string }, command: Command) => {
      const { controllers, injectors } = await driversOf(await meshSourceOf(host, flags, command), context.signal)
      const all = [
        ...controllers.map(({ controller, drivers }) => ({ program: `controller ${controller}`, drivers })),
        ...injectors.map(({ injector, drivers }) => ({ program: `injector ${injector}`, drivers })),
      ]
      const color = wantsColor(context.stdout, context.variables)
      context.stdout.write(
        flags.output === 'json'
          ? toJson({ controllers, injectors })
          : toText(all.flatMap((it) => lines(it, { named: all.length > 1, wide: flags.output === 'wide', color }))),
      )
      const calm = all.every(({ drivers }) => drivers.every(({ state }) => CALM.has(state)))
      onExit(calm ? exitCodes.ok : exitCodes.problem)
    })
}

interface ListedDrivers {
  readonly controllers: readonly ControllerDrivers[]
  /** Those of a cluster: elsewhere nothing is injected. */
  readonly injectors: readonly InjectorDrivers[]
}

async function driversOf(source: MeshSource, signal: AbortSignal): Promise<ListedDrivers> {
  if (source.kind === 'cluster') {
    const { cluster } = source
    const [controllers, injectors] = await Promise.all([clusterDrivers(cluster), clusterInjectorDrivers(cluster)])
    return { controllers, injectors }
  }
  const { controllerUrl } = source.mesh
  return {
    controllers: [{ controller: controllerUrl, drivers: await debugApi(controllerUrl, signal).drivers() }],
    injectors: [],
  }
}

function lines(
  { program, drivers }: { readonly program: string; readonly drivers: readonly DriverState[] },
  { named, wide, color }: { readonly named: boolean; readonly wide: boolean; readonly color: boolean },
): readonly string[] {
  const rows = drivers.map((driver) => {
    const { name, version, contract, origin, state, restarts, failurePolicy, capabilities } = driver
    const list = (values: readonly string[] | undefined): string =>
      values === undefined || values.length === 0 ? '-' : values.join(',')
    return [
      span(name),
      span(version === '' ? '-' : version),
      span(contract === undefined ? '-' : String(contract)),
      span(origin),
      span(state, emphasisOf(state)),
      span(restarts === undefined ? '-' : String(restarts)),
      span(failurePolicy),
      ...(wide ? [span(list(capabilities?.protocols)), span(list(capabilities?.features))] : []),
    ]
  })
  const reasons = drivers.flatMap(({ name, reason }) =>
    reason === undefined ? [] : [span(`${name}: ${reason.message} [${reason.code}]`).text],
  )
  return [
    ...(named ? [program] : []),
    ...renderTable(
      (wide ? WIDE_COLUMNS : COLUMNS).map((title) => ({ title })),
      rows,
      { color },
    ),
    ...(reasons.length === 0 ? [] : ['', ...reasons]),
  ]
}

function emphasisOf(state: DriverState['state']): Emphasis {
  if (state === 'ready') return 'good'
  return CALM.has(state) ? 'plain' : 'bad'
}
