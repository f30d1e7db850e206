import { missing, never, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

const injecting = 'packages/injector/src/inject/inject-pod.test.ts'
const lists = 'packages/injector/src/inject/traffic-lists.test.ts'
const deciding = 'packages/injector/src/decision/decide.test.ts'
const webhooks = 'packages/bootstrap/src/webhooks/webhook-configurations.test.ts'
const rendering = 'charts/osm/testdata/another-mesh.golden.yaml'
const resolving = 'packages/core/src/config/resolve-mesh-config.test.ts'
const prefix = 'openservicemesh.io/'

/** @type {Section} */
export const annotations = {
  title: 'Annotations',
  introduction:
    'Annotations of pods and namespaces, unless the note names other objects. Invalid values are refused as a whole.',
  rows: [
    works(`${prefix}sidecar-injection`, [deciding, injecting]),
    works(`${prefix}metrics`, injecting, { note: 'namespaces' }),
    works(`${prefix}inbound-port-exclusion-list`, lists, { word: 'inbound-port-exclusion-list' }),
    works(`${prefix}outbound-port-exclusion-list`, lists, { word: 'outbound-port-exclusion-list' }),
    works(`${prefix}outbound-ip-range-exclusion-list`, lists, { word: 'outbound-ip-range-exclusion-list' }),
    works(`${prefix}outbound-ip-range-inclusion-list`, lists, { word: 'outbound-ip-range-inclusion-list' }),
    works(
      `${prefix}sidecar-resource-{limits,requests}-{cpu,memory,storage,ephemeral-storage}`,
      ['packages/injector/src/annotations/annotations.test.ts', injecting],
      { word: 'sidecar-resource-' },
    ),
    works('prometheus.io/{scrape,port,path}', injecting, { note: 'written to pods' }),
    works(
      `${prefix}egress-gateway-mode`,
      [
        'packages/core/src/catalog/testdata/in/egress-gateway.yaml',
        'packages/driver-testkit/scenarios/egress-gateway-explicit.yaml',
      ],
      { note: 'Services' },
    ),
    works(`${prefix}pod-addresses`, 'packages/core/src/catalog/policy/problems/pod-addresses.test.ts', {
      note: 'new; namespaces and Services',
    }),
    works(`${prefix}network-interface-exclusion-list`, [lists, injecting], { note: 'new' }),
    works(`${prefix}sidecar-class`, injecting, { note: 'new' }),
    missing(`${prefix}{inbound-port-inclusion-list,outbound-port-inclusion-list,port}`, 'interception by eBPF'),
  ],
}

/** @type {Section} */
export const labels = {
  title: 'Labels',
  introduction: 'Labels of namespaces, pods and the objects of the control plane.',
  rows: [
    works(`${prefix}monitored-by`, [deciding, webhooks], { note: 'namespaces' }),
    works(`${prefix}ignore`, [deciding, webhooks], { note: 'namespaces' }),
    works(`${prefix}reconcile`, ['packages/bootstrap/src/run-bootstrap.integration.test.ts', webhooks], {
      note: 'CRDs and webhook configurations',
    }),
    works('osm-proxy-uuid', [injecting, 'e2e/api/install.test.ts'], { note: 'pods with a sidecar' }),
    works('control-plane', deciding, { note: 'namespaces without injection' }),
    works('app.kubernetes.io/{name,instance,version}', [webhooks, rendering]),
    works('app', rendering, { note: 'objects of the chart' }),
    works('meshName', ['e2e/api/chart-every-value.test.ts', rendering]),
    works('enforceSingleMesh', 'packages/bootstrap/src/preinstall/run-checks.test.ts', { note: 'osm-controller' }),
  ],
}

/** @type {Section} */
export const environment = {
  title: 'Environment',
  introduction: 'Environment variables of the programs of the control plane and of the command line.',
  rows: [
    works('{CONTROLLER_POD_NAME,INJECTOR_POD_NAME,BOOTSTRAP_POD_NAME}', 'charts/osm/testdata/default.golden.yaml'),
    never('CONTROLLER_SVC_NAME', 'the name of the Service is fixed by the contract', rendering),
    works(
      '{OSM_DEFAULT_SIDECAR_CLASS,OSM_DEFAULT_SIDECAR_IMAGE,OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE,OSM_DEFAULT_INIT_CONTAINER_IMAGE}',
      resolving,
    ),
    missing('OSM_DEFAULT_HEALTHCHECK_CONTAINER_IMAGE', 'TCP probes need no separate container'),
    never(
      '{OSM_REPO_SERVER_IPADDR,OSM_REPO_SERVER_CODEBASE}',
      'the repo of class pipy is part of osm-controller',
      resolving,
    ),
    missing('OSM_LOG_KUBERNETES_EVENTS', 'debug logs include changes of objects'),
    missing('OSM_HUMAN_DEBUG_LOG', 'logs are JSON'),
    works(
      '{OSM_CONFIG,KUBECONFIG}',
      ['packages/cli/src/commands/env.test.ts', 'packages/cli/src/kubernetes/cluster-options.test.ts'],
      { note: 'the command line' },
    ),
  ],
}
