import { customResourceDefinitions } from '@osm-ts/kubernetes'
import {
  connectProgram,
  type FlagDefinitions,
  type FlagValues,
  parseFlags,
  processFlags,
  type Program,
} from '@osm-ts/program'

import { installChecks, runChecks, upgradeChecks } from './run-checks.js'

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
  upgrade: {
    kind: 'switch',
    default: false,
    meaning: 'the mesh is there and is to be upgraded: look only for what stands in the way of that',
  },
  'sidecar-class': {
    kind: 'text',
    form: 'dns-label',
    default: '',
    meaning: 'sidecar class of the mesh; it needs a driver (empty: do not look)',
  },
  'certificate-manager': {
    kind: 'text',
    default: '',
    meaning:
      'who is to sign certificates of workloads; for cert-manager, that has to be installed (empty: do not look)',
  },
  'available-sidecar-classes': {
    kind: 'text',
    default: 'envoy',
    meaning: 'classes whose drivers are in the programs, separated by commas',
  },
} as const satisfies FlagDefinitions

/** osm-preinstall: says before an installation what would keep it from working. */
export const preinstallProgram: Program<FlagValues<typeof preinstallFlags>> = {
  name: NAME,
  podNameVariable: 'PREINSTALL_POD_NAME',
  definitions: preinstallFlags,
  parse: (argv) => parseFlags(argv, preinstallFlags),
  main: async ({ flags, environment, signal, print }) => {
    const { namespace, meshName, enforceSingleMesh, upgrade } = flags
    const api = await connectProgram(NAME, { flags, environment })
    const definitions = customResourceDefinitions()
    const context = {
      api,
      meshName,
      namespace,
      enforceSingleMesh,
      sidecarClass: flags.sidecarClass === '' ? undefined : flags.sidecarClass,
      availableClasses: flags.availableSidecarClasses.split(',').filter((name) => name !== ''),
      certificateManager: flags.certificateManager,
      definitions,
      signal,
    }
    return (await runChecks(upgrade ? upgradeChecks : installChecks, context, print)) ? 0 : 1
  },
}
