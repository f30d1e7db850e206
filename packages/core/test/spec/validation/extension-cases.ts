import { object, policy, type ValidationCase } from './faultless-mesh.js'

/** Faults of plugins, imports and telemetry. */
export const extensionCases: readonly ValidationCase[] = [
  [
    'an empty plugin',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: " " }'),
    'error OSM_SPEC_NO_EFFECT spec.pipyscript',
    'is empty',
  ],
  [
    'a plugin that is too long',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', `{ pipyscript: "${'x'.repeat(1_000_001)}" }`),
    'error OSM_SPEC_SCRIPT spec.pipyscript',
    'has 1000001 bytes; at most 1000000 go to sidecars',
  ],
  [
    'a plugin that is not a script',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: "export function request( {" }'),
    'error OSM_SPEC_SCRIPT spec.pipyscript',
    'is not a JavaScript module: Unexpected token (1:26)',
  ],
  [
    'a plugin of osm-edge, which exports nothing',
    object('plugin.flomesh.io/v1alpha1', 'Plugin', 'p', '{ pipyscript: "export var other = pipy()" }'),
    'warning OSM_SPEC_NO_EFFECT spec.pipyscript',
    'must export at least one of the functions request, response and connection',
  ],
  [
    'a chain of a missing plugin',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginChain',
      'c',
      '{ chains: [{ name: inbound-tcp, plugins: [plugin, plugim] }], selectors: {} }',
    ),
    'warning OSM_SPEC_REFERENCE spec.chains[0].plugins[1]',
    'Plugin plugim does not exist; did you mean "plugin"?',
  ],
  [
    'settings of a missing plugin',
    object('plugin.flomesh.io/v1alpha1', 'PluginConfig', 'c', '{ plugin: x, destinationRefs: [], config: {} }'),
    'warning OSM_SPEC_REFERENCE spec.plugin',
    'Plugin x does not exist',
  ],
  [
    'settings for a missing service',
    object(
      'plugin.flomesh.io/v1alpha1',
      'PluginConfig',
      'c',
      '{ plugin: plugin, destinationRefs: [{ kind: Service, name: wbe, namespace: default }], config: {} }',
    ),
    'warning OSM_SPEC_REFERENCE spec.destinationRefs[0].name',
    'did you mean "web"?',
  ],
  [
    'an import without an address',
    object(
      'flomesh.io/v1alpha1',
      'ServiceImport',
      'i',
      '{ ports: [{ port: 1, endpoints: [{ clusterKey: c, target: { host: h, ip: h, port: 1, path: / } }] }] }',
    ),
    'error OSM_SPEC_ADDRESS spec.ports[0].endpoints[0].target.ip',
    '"h" is not an IP address',
  ],
  [
    'logs to a missing collector',
    object(
      policy,
      'Telemetry',
      't',
      '{ accessLog: { openTelemetry: { extensionService: { namespace: default, name: c } } } }',
    ),
    'error OSM_SPEC_REFERENCE spec.accessLog.openTelemetry.extensionService.name',
    'ExtensionService default/c does not exist',
  ],
  [
    'a log format with an unknown command',
    object(policy, 'Telemetry', 't', '{ accessLog: { format: "%DURATON%" } }'),
    'error OSM_SPEC_LOG_FORMAT spec.accessLog.format',
    '%DURATON% is not a supported command',
  ],
  [
    'Telemetry for workloads that another one has',
    [
      object(policy, 'Telemetry', 't', '{ selector: { app: web } }'),
      object(policy, 'Telemetry', 's', '{ selector: { app: web }, accessLog: {} }'),
    ].join('\n---\n'),
    'error OSM_SPEC_CONFLICT spec.selector',
    'the same workloads as Telemetry default/s, which takes precedence',
  ],
  [
    'a collector with a bad timeout',
    object('config.openservicemesh.io/v1alpha2', 'ExtensionService', 'c', '{ host: h, port: 1, connectTimeout: x }'),
    'error OSM_SPEC_DURATION spec.connectTimeout',
    'is not a duration',
  ],
]
