import { balanced, service, type ValidationCase, workload } from './faultless-mesh.js'

/** Faults of Services and Workloads. */
export const serviceCases: readonly ValidationCase[] = [
  [
    'ports of one number',
    service('[{ name: a, targetPort: 8080, port: 80 }, { name: b, targetPort: 8080, port: 80 }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[1].port',
    'TCP 80 is already a port of this Service',
  ],
  [
    'ports of one name',
    service('[{ name: a, targetPort: 8080, port: 80 }, { name: a, targetPort: 8080, port: 81 }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[1].name',
    '"a" is already the name of another port',
  ],
  [
    'ports without names',
    service('[{ name: a, targetPort: 8080, port: 80 }, { targetPort: 8080, port: 81 }]'),
    'warning OSM_SPEC_SERVICE_PORT spec.ports[1].name',
    'is missing',
  ],
  [
    'an unknown protocol',
    service('[{ targetPort: 8080, port: 80, appProtocol: htp }]'),
    'warning OSM_SPEC_PROTOCOL spec.ports[0].appProtocol',
    '"htp" is unknown and treated as tcp; did you mean "http"?',
  ],
  [
    'UDP',
    service('[{ targetPort: 8080, port: 80, protocol: UDP }]'),
    'warning OSM_SPEC_PROTOCOL spec.ports[0].protocol',
    'which carries TCP only',
  ],
  [
    'a port name that no workload has',
    service('[{ port: 80, targetPort: htp }]'),
    'error OSM_SPEC_SERVICE_PORT spec.ports[0].targetPort',
    'no workload of this Service has a port named "htp"; did you mean "http"?',
  ],

  [
    'a workload of nothing',
    workload('ports: []'),
    'error OSM_SPEC_WORKLOAD spec',
    'neither a command to start nor the address',
  ],
  [
    'a workload of both',
    workload('command: [x], address: 192.0.2.1'),
    'error OSM_SPEC_WORKLOAD spec.command',
    'remove one of the two',
  ],
  [
    'a bad address',
    workload('address: "192.0.2.1:80"'),
    'error OSM_SPEC_ADDRESS spec.address',
    'is neither an IP address nor a host name',
  ],
  [
    'endpoints of the own node only',
    balanced('internalTrafficPolicy: Local'),
    'warning OSM_SPEC_NO_EFFECT spec.internalTrafficPolicy',
    'endpoints of every node get requests',
  ],
  [
    'endpoints of the own node first',
    balanced('trafficDistribution: PreferSameNode'),
    'warning OSM_SPEC_NO_EFFECT spec.trafficDistribution',
    'counts as PreferSameZone',
  ],
  [
    'a distribution that Kubernetes does not have',
    balanced('trafficDistribution: PreferClos'),
    'warning OSM_SPEC_NO_EFFECT spec.trafficDistribution',
    '"PreferClos" is unknown and has no effect; did you mean "PreferClose"?',
  ],
  [
    'an affinity that Kubernetes does not have',
    balanced('sessionAffinity: Cookie'),
    'warning OSM_SPEC_NO_EFFECT spec.sessionAffinity',
    'known are ClientIP, None',
  ],
  [
    'an affinity that ends',
    balanced('sessionAffinity: ClientIP, sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } }'),
    'warning OSM_SPEC_NO_EFFECT spec.sessionAffinityConfig.clientIP.timeoutSeconds',
    'as long as the endpoints stay',
  ],
  [
    'a local workload outside the mesh',
    workload('command: [x], sidecar: false'),
    'warning OSM_SPEC_NO_EFFECT spec.sidecar',
    'outside the mesh',
  ],
  [
    'two ports of one number',
    workload('command: [x], ports: [{ port: 1 }, { port: 1 }]'),
    'error OSM_SPEC_WORKLOAD spec.ports[1].port',
    '1 is already a port of this Workload',
  ],
  [
    'two ports of one name',
    workload('command: [x], ports: [{ name: a, port: 1 }, { name: a, port: 2 }]'),
    'error OSM_SPEC_WORKLOAD spec.ports[1].name',
    '"a" is already the name of another port',
  ],
  [
    'two ports of one listener',
    workload('command: [x], ports: [{ port: 1 }, { port: 2, localPort: 1 }]'),
    'warning OSM_SPEC_WORKLOAD spec.ports[1].localPort',
    'is already the local port of another port',
  ],
  [
    'a probe of two kinds',
    workload('command: [x], probes: { liveness: { tcpSocket: { port: 1 }, exec: { command: [x] } } }'),
    'error OSM_SPEC_WORKLOAD spec.probes.liveness',
    'exactly one of httpGet, tcpSocket, grpc and exec, not tcpSocket and exec',
  ],
  [
    'a probe of an unknown port',
    workload('command: [x], ports: [{ name: http, port: 1 }], probes: { startup: { httpGet: { port: htp } } }'),
    'error OSM_SPEC_WORKLOAD spec.probes.startup.httpGet.port',
    'no port named "htp"; did you mean "http"?',
  ],
]
