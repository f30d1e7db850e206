import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../../../tools/lib/paths.mjs'
import { programs } from '../../../tools/programs.mjs'
import { isReachableByOthers } from '@osm-ts/standalone/testing'
import type { Images } from './container-command.js'

/** Our own programs, by the names of their images. */
const own = [
  'osm-controller',
  'osm-injector',
  'osm-bootstrap',
  'osm-dashboard',
  'osm-preinstall',
  'osm-cleanup',
] as const

/** Programs that stand for applications. */
const applications = {
  'http-server': 'e2e/dataplane/support/apps/http-server.mjs',
  idle: 'e2e/dataplane/support/apps/idle.mjs',
  load: 'e2e/dataplane/support/apps/load.mjs',
}

/**
 * What each image runs here. Containers run as users who may not get to the home folder of anyone who runs the tests: what lies there is
 * copied to where they do.
 */
export function prepareImages(folder: string, env: NodeJS.ProcessEnv): Images {
  const copies = join(folder, 'images')
  mkdirSync(copies, { recursive: true })
  const reachable = (file: string): string => {
    if (isReachableByOthers(file)) return file
    const copy = join(copies, basename(file))
    if (!existsSync(copy)) copyFileSync(file, copy)
    chmodSync(copy, 0o755)
    return copy
  }
  const node = reachable(process.execPath)
  // Programs that have drivers look for it beside themselves.
  reachable(join(root, 'packages/driver-process/dist/osm-driver-host.mjs'))
  // osm-dashboard serves the page that lies beside it.
  const page = 'packages/cli/dist/dashboard-page'
  if (existsSync(join(root, page)) && !isReachableByOthers(join(root, page)))
    cpSync(join(root, page), join(copies, basename(page)), { recursive: true })
  const scripts = [
    ...own.map((name) => [name, programs[name]?.bundle ?? name] as const),
    ...Object.entries(applications),
  ]
  const { ENVOY_BIN: envoy } = env
  if (envoy === undefined) throw new Error('ENVOY_BIN is not set; run npm run test:api')
  return {
    ...Object.fromEntries(
      scripts
        .filter(([, file]) => existsSync(join(root, file)))
        .map(([name, file]) => [name, [node, reachable(join(root, file))] as const]),
    ),
    envoy: [reachable(envoy)],
    // Its name of old, which meshes keep that were upgraded.
    'envoy-distroless': [reachable(envoy)],
  }
}
