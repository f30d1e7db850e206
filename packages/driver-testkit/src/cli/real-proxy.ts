import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

import type { JsonValue } from '@osm-ts/driver-api/policy'
import { packageIntegrity } from '@osm-ts/driver-process'

import type { LocalMode } from '../scenarios/format.js'
import { Level1 } from '../conformance/level-1/level-1.js'
import { findOsm } from './find-osm.js'
import { type LoadedDriver, NoDriver } from './load-driver.js'
import { copyWhole } from './whole-package.js'

/** More than a program needs to say which one it is. */
const VERSION_MS = 5_000
const MAX_VERSION = 200

/** What level 1 is run with. */
export interface RealProxyOptions {
  readonly loaded: LoadedDriver
  readonly config: JsonValue
  /** Absolute path of the folder that relative paths are looked up from. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** `--osm` */
  readonly osm: string | undefined
  /** `--proxy` */
  readonly proxy: string | undefined
  /** `--mode` */
  readonly mode: LocalMode
  /** True: this process may set up network namespaces and the redirection of connections. */
  readonly mayIntercept?: boolean
  /** `--built-in` */
  readonly builtIn: boolean
  /** Module that plays the workloads; that of this package if absent. */
  readonly actor?: string
}

/** Level 1 on a real proxy, and what a report says of the programs. */
export interface RealProxy {
  readonly level1: Level1
  readonly mode: LocalMode
  /** Version of the program `osm`; empty if it has none. */
  readonly osm: string
  /** What the proxy answers to `--version`, its first line; empty if it answers nothing. */
  readonly proxy: string
  /** Ends the mesh, and removes what was made for it. */
  readonly close: () => Promise<void>
}

/**
 * Looks up what level 1 needs.
 *
 * @throws NoDriver if something of it is not there
 */
export async function openRealProxy(options: RealProxyOptions): Promise<RealProxy> {
  const { loaded, config, folder, environment, actor, mode } = options
  const { driver } = loaded
  if (mode === 'transparent' && options.mayIntercept !== true)
    throw new NoDriver(
      `--mode transparent redirects connections by the kernel, which takes root on Linux: there, sudo --preserve-env=PATH npx driver-testkit --driver ${loaded.package.name} --level 1 --mode transparent --proxy <executable>`,
    )
  const osm = findOsm(options.osm, folder)
  if (osm === undefined)
    throw new NoDriver(
      options.osm === undefined
        ? 'level 1 runs meshes by the program osm: install @osm-ts/cli, or name the program with --osm'
        : `there is no program ${options.osm}, which --osm names`,
    )
  const variable = `${driver.name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BIN`
  const given = options.proxy ?? (environment[variable] === '' ? undefined : environment[variable])
  if (given === undefined)
    throw new NoDriver(`level 1 runs real proxies: name the executable of one with --proxy, or in ${variable}`)
  const proxy = resolve(folder, given)
  if (!existsSync(proxy)) throw new NoDriver(`there is no proxy ${given}`)
  const scratch = mkdtempSync(join(tmpdir(), 'osm-level-1-'))
  const remove = (): void => rmSync(scratch, { recursive: true, force: true })
  try {
    const level1 = new Level1({
      driver,
      config,
      mode,
      ...(actor !== undefined && { actor }),
      mesh: {
        osm: osm.path,
        environment,
        arguments: options.builtIn
          ? [`--${driver.name}`, proxy]
          : [...(await driverPackage(loaded, join(scratch, 'package'))), '--sidecar', `${driver.name}=${proxy}`],
      },
    })
    const close = async (): Promise<void> => {
      await level1.close()
      remove()
    }
    return { level1, mode, osm: osm.version, proxy: await versionOf(proxy), close }
  } catch (error) {
    remove()
    throw error
  }
}

/** The arguments that have a mesh load the driver as any other. */
async function driverPackage({ driver, folder }: LoadedDriver, path: string): Promise<readonly string[]> {
  await copyWhole(folder, path)
  const list = { drivers: [{ name: driver.name, path, integrity: await packageIntegrity(path) }] }
  return ['--driver-packages', JSON.stringify(list)]
}

/** Proxies that know no such option say nothing, or stay; either is no fault. */
function versionOf(proxy: string): Promise<string> {
  return new Promise((done) => {
    const child = spawn(proxy, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] })
    let first = ''
    const settle = (): void => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      done(first.trim().slice(0, MAX_VERSION))
    }
    const timer = setTimeout(settle, VERSION_MS)
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.trim() === '') return
      if (first === '') first = line.replaceAll(proxy, '')
      settle()
    })
    child.once('error', settle)
    child.once('close', settle)
  })
}
