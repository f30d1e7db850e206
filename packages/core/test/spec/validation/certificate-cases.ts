import { object, policy, type ValidationCase } from './faultless-mesh.js'

/** Faults of egress gateways, certificates and their providers. */
export const certificateCases: readonly ValidationCase[] = [
  [
    'global gateways',
    object(policy, 'EgressGateway', 'g', '{ global: [{ service: gw, namespace: default }] }'),
    'error OSM_SPEC_REFERENCE spec.global[0].service',
    'Service default/gw does not exist',
  ],
  [
    'gateways for a missing policy',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: e, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.rules[0].egressPolicies[0].name',
    'Egress default/e does not exist',
  ],
  [
    'a missing gateway',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: gw, namespace: default }] }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.rules[0].egressGateways[0].service',
    'does not exist',
  ],

  [
    'gateways without a share',
    object(
      policy,
      'EgressGateway',
      'g',
      '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: web, namespace: default, weight: 0 }] }] }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec.rules[0].egressGateways',
    'names no gateway with a weight',
  ],
  [
    'a second rule for an Egress',
    ['first', 'g']
      .map((name) =>
        object(
          policy,
          'EgressGateway',
          name,
          '{ rules: [{ egressPolicies: [{ name: egress, namespace: default }], egressGateways: [{ service: web, namespace: default }] }] }',
        ),
      )
      .join('\n---\n'),
    'error OSM_SPEC_CONFLICT spec.rules[0].egressPolicies[0]',
    'already has gateways, by EgressGateway default/first',
  ],

  [
    'a certificate for an identity',
    object(
      policy,
      'AccessCert',
      'a',
      '{ subjectAltNames: [web.default.trust.example], secret: { name: s, namespace: n } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'is the identity of service account default/web, which TrafficTarget default/target names',
  ],
  [
    'a certificate for the trust domain',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: [trust.example], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'is below trust.example',
  ],
  [
    'a certificate for a service',
    object(
      policy,
      'AccessCert',
      'a',
      '{ subjectAltNames: [WEB.default.svc.cluster.local.], secret: { name: s, namespace: n } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'is below cluster.local',
  ],
  [
    'a certificate for everything',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: ["*.example.com"], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_CERT_NAME spec.subjectAltNames[0]',
    'must not contain a wildcard',
  ],
  [
    'a certificate for no name',
    object(policy, 'AccessCert', 'a', '{ subjectAltNames: ["a b"], secret: { name: s, namespace: n } }'),
    'error OSM_SPEC_HOST spec.subjectAltNames[0]',
    'is not a host name',
  ],
  [
    'a gateway certificate for a service',
    object(
      'config.openservicemesh.io/v1alpha2',
      'MeshConfig',
      'c',
      '{ certificate: { ingressGateway: { subjectAltNames: [a.b, web.default.svc.cluster.local], validityDuration: 1h, secret: { name: s, namespace: n } } } }',
    ),
    'error OSM_SPEC_CERT_NAME spec.certificate.ingressGateway.subjectAltNames[1]',
    'is below cluster.local',
  ],
  ...(
    [
      [
        'a stage of one chain in another',
        'modules/outbound-tcp-default',
        '',
        'plugin',
        'is not a built-in stage of inbound-tcp',
      ],
      ['a script among the stages', 'mine', '', 'plugin', 'use a PluginChain to add scripts'],
      ['a stage elsewhere', 'modules/inbound-tcp-default', '', 'priority', 'is fixed; plugins run after the rules'],
      ['no stage', 'modules/inbound-tcp-routing', ', disable: true', 'disable', 'cannot be left out'],
    ] as const
  ).map(
    ([what, stage, more, field, message]) =>
      [
        what,
        object(
          'config.openservicemesh.io/v1alpha2',
          'MeshConfig',
          'c',
          `{ pluginChains: { inbound-tcp: [{ plugin: ${stage}, priority: 120${more} }] } }`,
        ),
        `warning OSM_SPEC_NO_EFFECT spec.pluginChains.inbound-tcp[0].${field}`,
        message,
      ] as const,
  ),
  [
    'a root of no provider',
    object('config.openservicemesh.io/v1alpha2', 'MeshRootCertificate', 'm', '{ provider: {} }'),
    'error OSM_SPEC_PROVIDER spec.provider',
    'must have exactly one of tresor, vault and certManager, not none',
  ],

  [
    'a root certificate that issues nothing',
    object(
      'config.openservicemesh.io/v1alpha2',
      'MeshRootCertificate',
      'm',
      '{ provider: { tresor: { ca: { secretRef: { name: s, namespace: n } } } } }',
    ),
    'warning OSM_SPEC_NO_EFFECT spec',
    'the flags of the programs select the provider',
  ],

  ...(
    [
      ['token', '', 'spec.provider.vault.token', 'is missing: a login of kind token requires it'],
      ['kubernetes', ', mount: k8s', 'spec.provider.vault.auth.role', 'a login of kind kubernetes requires'],
      ['tokenFile', '', 'spec.provider.vault.auth.tokenFile', 'a login of kind tokenFile requires'],
    ] as const
  ).map(
    ([kind, more, field, message]) =>
      [
        `a login to Vault of kind ${kind} without what it needs`,
        object(
          'config.openservicemesh.io/v1alpha2',
          'MeshRootCertificate',
          'm',
          `{ provider: { vault: { host: v, port: 1, role: r, protocol: https, auth: { kind: ${kind}${more} } } } }`,
        ),
        `error OSM_SPEC_PROVIDER ${field}`,
        message,
      ] as const,
  ),
]
