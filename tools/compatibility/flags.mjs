import { missing, never, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** Starts each program with every flag of OSM. */
const taking = 'e2e/api/flags.test.ts'
const parsing = 'packages/program/src/parse-flags.test.ts'
const running = 'packages/program/src/run-program.test.ts'
const bootstrap = 'e2e/api/bootstrap.test.ts'
const rendering = 'charts/osm/testdata/another-mesh.golden.yaml'

/** @type {Section} */
export const flags = {
  title: 'Flags of the programs',
  introduction:
    'Flags of osm-controller, osm-injector and osm-bootstrap, unless the note names a program. `--help` of a program lists all its flags, including new ones.',
  rows: [
    works('--mesh-name', [taking, parsing]),
    works('--osm-namespace', [taking, parsing]),
    works('--osm-version', [taking, rendering]),
    works('--osm-config-name', taking),
    works('--verbosity', [taking, running], { note: 'MeshConfig overrides it' }),
    works('--certificate-manager', [taking, parsing]),
    works('--ca-bundle-secret-name', [taking, rendering]),
    works('--trust-domain', [taking, parsing]),
    works('--enable-mesh-root-certificate', taking, { note: 'read at the start of a controller' }),
    works('--vault-{protocol,host,port,role,token,token-secret-name,token-secret-key}', [taking, parsing]),
    works('--cert-manager-issuer-{name,kind,group}', [taking, parsing]),
    works('--enable-reconciler', [taking, bootstrap], { note: 'osm-bootstrap' }),
    works('--osm-service-account', taking, { note: 'osm-controller' }),
    never(
      '--validator-webhook-config',
      'on osm-controller; osm-bootstrap manages the webhook and also has the flag',
      taking,
    ),
    works('--validate-traffic-target', [taking, rendering], { note: 'osm-controller and osm-bootstrap' }),
    never('--webhook-config-name', 'on osm-injector; osm-bootstrap manages the webhook and also has the flag', taking),
    works('--webhook-timeout', [taking, bootstrap], { note: 'osm-injector and osm-bootstrap' }),
    works('--osm-container-pull-policy', taking, { note: 'osm-injector' }),
    works('--kubeconfig', 'e2e/api/support/controller-process.ts'),
    works('--enforce-single-mesh', [taking, bootstrap], { note: 'osm-preinstall' }),
    works('--namespace', [taking, bootstrap], { note: 'osm-preinstall' }),
    missing(
      '--{kernel-tracing,kind,cni-mode,host-proc,cni-bin-dir,cni-config-dir,host-var-run}',
      'flags of osm-interceptor, for eBPF interception',
    ),
  ],
}
