import { egress, ingress, object, policy, ranges, type ValidationCase } from './faultless-mesh.js'

/** Faults of rules for traffic that leaves or enters the mesh. */
export const boundaryCases: readonly ValidationCase[] = [
  [
    'egress of an unknown protocol',
    egress('hosts: [a.b], ports: [{ number: 1, protocol: udp }]'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'must be one of http, https, tcp, tcp-server-first, not "udp"',
  ],
  [
    'egress without hosts',
    egress('ports: [{ number: 80, protocol: HTTP }]'),
    'error OSM_SPEC_NO_EFFECT spec.hosts',
    'http needs the names of hosts',
  ],
  [
    'egress of http by address',
    egress('ipAddresses: [10.0.0.0/8], ports: [{ number: 443, protocol: https }, { number: 80, protocol: http }]'),
    'error OSM_SPEC_NO_EFFECT spec.hosts',
    'http needs the names of hosts',
  ],
  [
    'egress without ports',
    egress('hosts: [a.b], ports: []'),
    'warning OSM_SPEC_NO_EFFECT spec.ports',
    'nothing is opened',
  ],
  [
    'egress without sources',
    object(policy, 'Egress', 'egress', '{ sources: [], ports: [{ number: 1, protocol: tcp }] }'),
    'warning OSM_SPEC_NO_EFFECT spec.sources',
    'is empty: no egress is allowed',
  ],
  [
    'egress for an unknown account',
    object(
      policy,
      'Egress',
      'egress',
      '{ sources: [{ kind: ServiceAccount, name: klient, namespace: default }], ports: [{ number: 1, protocol: tcp }] }',
    ),
    'warning OSM_SPEC_ACCOUNT spec.sources[0].name',
    'did you mean "client"?',
  ],
  [
    'egress to a URL',
    egress('hosts: ["http://a.b"], ports: [{ number: 80, protocol: http }]'),
    'error OSM_SPEC_HOST spec.hosts[0]',
    'remove scheme, port and path',
  ],
  [
    'egress to a bad range',
    egress('ipAddresses: [10.0.0.0/8, 10.0.0.1], ports: [{ number: 1, protocol: tcp }]'),
    'error OSM_SPEC_ADDRESS spec.ipAddresses[1]',
    '"10.0.0.1" is not an address range',
  ],
  [
    'egress with matches of another group',
    egress('ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: v1, kind: Service, name: x }]'),
    'error OSM_SPEC_REFERENCE spec.matches[0].apiGroup',
    'must be specs.smi-spec.io/v1alpha4 or policy.openservicemesh.io/v1alpha1',
  ],
  [
    'egress with matches of another kind',
    egress(
      'ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: TCPRoute, name: ports }]',
    ),
    'error OSM_SPEC_REFERENCE spec.matches[0].kind',
    'must be HTTPRouteGroup',
  ],
  [
    'egress with missing matches',
    egress(
      'ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, name: r }]',
    ),
    'error OSM_SPEC_REFERENCE spec.matches[0].name',
    'does not exist',
  ],
  [
    'egress with two settings',
    egress(
      `ports: [{ number: 1, protocol: tcp }], matches: [{ apiGroup: ${policy}, kind: UpstreamTrafficSetting, name: setting }, { apiGroup: ${policy}, kind: UpstreamTrafficSetting, name: setting }]`,
    ),
    'error OSM_SPEC_REFERENCE spec.matches[1]',
    'a second UpstreamTrafficSetting',
  ],
  [
    'https egress where the server speaks first',
    object('v1', 'Service', 'mail', '{ ports: [{ port: 443, appProtocol: tcp-server-first }] }'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'https on port 443 waits for the client, but Service default/mail lets the server speak first there',
  ],
  [
    'https and server-first egress on one port',
    egress('ports: [{ number: 443, protocol: tcp-server-first }]', 'mail'),
    'error OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'Egress default/mail lets the server speak first',
  ],

  [
    'ingress of an unknown protocol',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: tcp } }], ${ranges} }`),
    'error OSM_SPEC_PROTOCOL spec.backends[0].port.protocol',
    'must be one of http, https, grpc',
  ],
  [
    'ingress without sources',
    ingress('{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [] }'),
    'error OSM_SPEC_NO_EFFECT spec.sources',
    'is empty: no caller is allowed',
  ],
  [
    'ingress without backends',
    ingress(`{ backends: [], ${ranges} }`),
    'warning OSM_SPEC_NO_EFFECT spec.backends',
    'nothing is opened',
  ],
  [
    'ingress of a backend twice',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: http } }, { name: web, port: { number: 8080, protocol: grpc } }], ${ranges} }`,
    ),
    'error OSM_SPEC_CONFLICT spec.backends[1]',
    'web port 8080 is already a backend of this object',
  ],
  [
    'ingress of a backend of another',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: http } }], ${ranges} }`, 'z'),
    'error OSM_SPEC_CONFLICT spec.backends[0]',
    'web port 8080 is already a backend of IngressBackend default/ingress, which takes precedence',
  ],
  [
    'ingress of a missing service',
    ingress(`{ backends: [{ name: wob, port: { number: 8080, protocol: http } }], ${ranges} }`),
    'warning OSM_SPEC_REFERENCE spec.backends[0].name',
    'Service default/wob does not exist; did you mean "web"?',
  ],
  [
    'ingress of the port of the service',
    ingress(`{ backends: [{ name: web, port: { number: 80, protocol: http } }], ${ranges} }`),
    'warning OSM_SPEC_REFERENCE spec.backends[0].port.number',
    'Service default/web leads to 8080',
  ],
  [
    'ingress with certificates of no one',
    ingress(`{ backends: [{ name: web, port: { number: 8080, protocol: https } }], ${ranges} }`),
    'error OSM_SPEC_PRINCIPAL spec.backends[0].tls',
    'name at least one source of kind AuthenticatedPrincipal',
  ],
  [
    'ingress of clients that no certificate can name',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: https } }], sources: [{ kind: AuthenticatedPrincipal, name: "*" }] }',
    ),
    'error OSM_SPEC_PRINCIPAL spec.sources[0].name',
    'is not a valid DNS name for a certificate',
  ],
  [
    'ingress under a name that no one can ask for',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: https }, tls: { skipClientCertValidation: true, sniHosts: ["*.a.example", "a b"] } }], ${ranges} }`,
    ),
    'error OSM_SPEC_HOST spec.backends[0].tls.sniHosts[1]',
    'is not a host name',
  ],
  [
    'ingress with useless TLS',
    ingress(
      `{ backends: [{ name: web, port: { number: 8080, protocol: http }, tls: { skipClientCertValidation: true } }], ${ranges} }`,
    ),
    'warning OSM_SPEC_NO_EFFECT spec.backends[0].tls',
    'only for https',
  ],
  [
    'ingress from nowhere',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: x }] }',
    ),
    'error OSM_SPEC_REFERENCE spec.sources[0].namespace',
    'is missing',
  ],
  [
    'ingress from a missing service',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: x, namespace: default }] }',
    ),
    'warning OSM_SPEC_REFERENCE spec.sources[0].name',
    'Service default/x does not exist',
  ],
  [
    'ingress from a bad range',
    ingress(
      '{ backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: IPRange, name: 10.0.0.1 }] }',
    ),
    'error OSM_SPEC_ADDRESS spec.sources[0].name',
    'is not an address range',
  ],
  [
    'access control of a backend twice',
    object(
      policy,
      'AccessControl',
      'a',
      `{ backends: [{ name: web, port: { number: 8080, protocol: http } }, { name: web, port: { number: 8080, protocol: http } }], ${ranges} }`,
    ),
    'error OSM_SPEC_CONFLICT spec.backends[1]',
    'already',
  ],
]
