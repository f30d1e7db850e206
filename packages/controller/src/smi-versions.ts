/** SMI kinds and the versions that are read: what `/smi/version` answers. */
export const smiVersions = Object.freeze({
  HTTPRouteGroup: 'specs.smi-spec.io/v1alpha4',
  TCPRoute: 'specs.smi-spec.io/v1alpha4',
  TrafficTarget: 'access.smi-spec.io/v1alpha3',
  TrafficSplit: 'split.smi-spec.io/v1alpha4',
})
