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
  namespace: { kind: 'text', form: 'dns-label', meaning: 'namespace of the installation' },
  'mesh-name': { kind: 'text', form: 'dns-label', default: 'osm', meaning: 'name of the mesh' },
  'enforce-single-mesh': {
    kind: 'switch',
    default: true,
    meaning: 'refuse the installation if the cluster has another mesh',
  },
  upgrade: {
    kind: 'switch',
    default: false,
    meaning: 'check an upgrade of an existing mesh instead of an installation',
  },
  'sidecar-class': {
    kind: 'text',
    form: 'dns-label',
    default: '',
    meaning: 'sidecar class of the mesh; a driver of this class is required. Empty: not checked',
  },
  'certificate-manager': {
    kind: 'text',
    default: '',
    meaning: 'certificate provider of workloads; cert-manager must be installed if selected. Empty: not checked',
  },
  'available-sidecar-classes': {
    kind: 'text',
    default: 'envoy',
    meaning: 'comma-separated sidecar classes with a driver in the programs',
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
