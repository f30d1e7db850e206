import { InvalidArgumentError, Option, type Command } from 'commander'

import { defaultConfig } from '../config/cli-config.js'
import { cliError } from '../errors.js'
import type { CommandHost } from './cli-command.js'

/** Options of commands that run helm with the chart. */
export interface ChartFlags {
  readonly meshName: string
  readonly osmChartPath?: string
  readonly set: readonly string[]
  readonly timeout: string
  readonly helm?: string
}

const meshNameForm = /^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$/
/** As Go's time package reads them, which helm does. */
const durationForm = /^(0|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+)$/

/** Adds the options to a command. */
export function withChartOptions(command: Command): Command {
  return command
    .addOption(meshNameOption('name of the mesh and of its helm release').default('osm'))
    .option('--osm-chart-path <path>', 'folder or archive of a chart to use instead of the bundled chart')
    .addOption(
      new Option(
        '--set <key=value>',
        'set a value of the chart, in the syntax of helm; may be repeated, or set several as key1=a,key2=b',
      )
        .default([], 'none')
        .argParser((value: string, before: readonly string[]) => [...before, value]),
    )
    .addOption(timeoutOption('how long to wait until everything is ready; 0 for no limit'))
    .addOption(helmOption())
}

/** The `--timeout` option. */
export function timeoutOption(description: string): Option {
  return new Option('--timeout <duration>', description).default('5m').argParser(duration)
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** Milliseconds of a duration as {@link timeoutOption} takes it. */
export function durationMs(duration: string): number {
  return [...duration.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (unitsMs[unit] ?? 0),
    0,
  )
}

/** The `--mesh-name` option. */
export function meshNameOption(description: string): Option {
  return new Option('--mesh-name <name>', description).argParser(meshName)
}

/** The `--helm` option. */
export function helmOption(): Option {
  return new Option('--helm <path>', 'helm executable (default: $HELM_BIN, else helm on the PATH)')
}

/** An option that scripts also write as `--flag=false`. */
export function switchOption(flag: string, description: string, byDefault: boolean): Option {
  return new Option(`${flag} [boolean]`, description)
    .choices(['true', 'false'])
    .default(byDefault, String(byDefault))
    .preset('true')
}

/** True for what such an option was given. */
export function isOn(value: string | boolean): boolean {
  return String(value) === 'true'
}

/**
 * Refuses commands that only the provider of a managed mesh may run.
 *
 * @throws OsmError `OSM_CLI_MANAGED`
 */
export function refuseManaged({ config }: Pick<CommandHost, 'config'>, message: string): void {
  if (config.kind !== 'managed') return
  const { distribution } = config
  throw cliError(
    'OSM_CLI_MANAGED',
    message,
    `install.kind is managed in the settings of osm env${distribution === '' ? '' : `; the mesh comes with ${distribution}`}: unset it only if you manage the mesh yourself (${defaultConfig.kind})`,
  )
}

function meshName(value: string): string {
  if (meshNameForm.test(value)) return value
  throw new InvalidArgumentError(
    'It must have at most 53 lowercase letters, digits and dashes, and start and end with a letter or digit.',
  )
}

function duration(value: string): string {
  if (!durationForm.test(value)) throw new InvalidArgumentError('It must be a duration such as 90s, 5m or 1h30m.')
  // Helm has no value for "no limit"; a year is long enough.
  return /^(0|0+(\.0+)?[a-zµ]+)$/.test(value) ? '8760h' : value
}
