import {
  connectProgram,
  customResourceDefinitions,
  type FlagDefinitions,
  type FlagValues,
  parseFlags,
  processFlags,
  type Program,
} from '@osm-ts/core'

import { preinstallChecks, runChecks } from './run-checks.js'

const NAME = 'osm-preinstall'

const preinstallFlags = {
  ...processFlags,
  namespace: { kind: 'text', form: 'dns-label', meaning: 'namespace that the mesh is to be installed in' },
  'mesh-name': { kind: 'text', form: 'dns-label', default: 'osm', meaning: 'name of the mesh' },
  'enforce-single-mesh': {
    kind: 'switch',
    default: true,
    meaning: 'the mesh shall be the only one of the cluster',
  },
} as const satisfies FlagDefinitions

/** osm-preinstall: says before an installation what would keep it from working. */
export const preinstallProgram: Program<FlagValues<typeof preinstallFlags>> = {
  name: NAME,
  podNameVariable: 'PREINSTALL_POD_NAME',
  definitions: preinstallFlags,
  parse: (argv) => parseFlags(argv, preinstallFlags),
  main: async ({ flags, environment, signal, print }) => {
    const { namespace, meshName, enforceSingleMesh } = flags
    const api = await connectProgram(NAME, { flags, environment })
    const definitions = customResourceDefinitions()
    const context = { api, meshName, namespace, enforceSingleMesh, definitions, signal }
    return (await runChecks(preinstallChecks, context, print)) ? 0 : 1
  },
}
