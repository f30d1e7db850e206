import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mustRun } from './packed-packages.mjs'

/**
 * Its own folder, outside of every other project, in which npm finds the packages of the registry. What those depend on comes from wherever npm gets it
 * on this machine.
 * @param {string} folder
 * @param {string} name
 * @param {string} url
 */
export async function npmProject(folder, name, url) {
  const path = await made(folder, name)
  const scopes = ['@osm-ts', '@osm-examples'].map((scope) => `${scope}:registry=${url}`)
  // npm publishes with a token only; this registry looks at none.
  const token = `${url.slice('http:'.length)}:_authToken=nobody`
  await writeFile(join(path, '.npmrc'), `${[...scopes, token, `cache=${join(folder, 'npm-cache')}`].join('\n')}\n`)
  return path
}

/**
 * @param {string} cwd
 * @param {...string} args
 */
export function npm(cwd, ...args) {
  return mustRun(cwd, 'npm', '--no-audit', '--no-fund', ...args)
}

/**
 * Creates a driver as `npm create` does. npm keeps what it has installed for that in its own cache, whatever the folder says, and would take it for the same version of another build.
 * @param {string} place made by {@link npmProject}
 * @param {string} driver name of the folder
 */
export function npmCreateDriver(place, driver) {
  return npm(place, 'create', '--yes', '--cache', join(place, 'npm-cache'), '@osm-ts/driver', driver)
}

/**
 * @param {string} folder
 * @param {string} name
 */
export async function made(folder, name) {
  const path = join(folder, name)
  await mkdir(path)
  return path
}
