import { systemClock } from '@osm-ts/core'
import { customResourceDefinitions } from '@osm-ts/kubernetes'
import {
  connectProgram,
  type FlagDefinitions,
  type FlagValues,
  parseFlags,
  processFlags,
  type Program,
  programFlags,
} from '@osm-ts/program'

import { runCleanup } from './run-cleanup.js'

const NAME = 'osm-cleanup'

const cleanupFlags = {
  ...processFlags,
  'mesh-name': programFlags['mesh-name'],
  'osm-namespace': programFlags['osm-namespace'],
  'osm-config-name': programFlags['osm-config-name'],
  'ca-bundle-secret-name': programFlags['ca-bundle-secret-name'],
  'delete-ca': {
    kind: 'switch',
    default: false,
    meaning: 'also delete the roots; running proxies then cannot connect to a mesh that is installed again',
  },
  'delete-crds': {
    kind: 'switch',
    default: false,
    meaning: 'also delete the CustomResourceDefinitions, and with them all policies of the cluster',
  },
} as const satisfies FlagDefinitions

/** osm-cleanup: removes after a mesh was uninstalled what would do harm without it. */
export const cleanupProgram: Program<FlagValues<typeof cleanupFlags>> = {
  name: NAME,
  podNameVariable: 'CLEANUP_POD_NAME',
  definitions: cleanupFlags,
  parse: (argv) => parseFlags(argv, cleanupFlags),
  main: async ({ flags, environment, signal, print }) => {
    const { meshName, osmNamespace, osmConfigName, caBundleSecretName, deleteCa, deleteCrds } = flags
    const api = await connectProgram(NAME, { flags, environment })
    const done = await runCleanup({
      api,
      meshName,
      osmNamespace,
      configName: osmConfigName,
      caBundleSecretName,
      definitions: customResourceDefinitions(),
      deleteCa,
      deleteCrds,
      clock: systemClock,
      print,
      signal,
    })
    return done ? 0 : 1
  },
}
