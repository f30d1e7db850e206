/** Annotations that injection reads or writes, with OSM's names. */
export const annotations = {
  injection: 'openservicemesh.io/sidecar-injection',
  workloadIdentity: 'openservicemesh.io/workload-identity',
  metrics: 'openservicemesh.io/metrics',
  inboundPortExclusions: 'openservicemesh.io/inbound-port-exclusion-list',
  outboundPortExclusions: 'openservicemesh.io/outbound-port-exclusion-list',
  outboundIpRangeExclusions: 'openservicemesh.io/outbound-ip-range-exclusion-list',
  outboundIpRangeInclusions: 'openservicemesh.io/outbound-ip-range-inclusion-list',
  interfaceExclusions: 'openservicemesh.io/network-interface-exclusion-list',
  resources: 'openservicemesh.io/sidecar-resource-',
  scrape: 'prometheus.io/scrape',
  scrapePort: 'prometheus.io/port',
  scrapePath: 'prometheus.io/path',
} as const
