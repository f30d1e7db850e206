/** @typedef {import('./build.mjs').Dashboard} Dashboard */
/** @typedef {import('./build.mjs').Panel} Panel */

/**
 * Requests, success, duration and bytes from callers to upstreams.
 * @param {string} by label that names a caller
 * @param {string} selector of the series of the rules
 * @returns {Panel[]}
 */
function trafficPanels(by, selector) {
  const labels = `source_namespace, ${by}, upstream`
  const legend = `{{source_namespace}}/{{${by}}} → {{upstream}}`
  const requests = `pod_upstream:osm_requests:rate1m{${selector}}`
  const duration = (/** @type {number} */ quantile) =>
    `histogram_quantile(${quantile}, sum by (${labels}, le) (pod_upstream:osm_request_duration_ms_bucket:rate1m{${selector}}))`
  return [
    { title: 'Requests', unit: 'reqps', queries: [[`sum by (${labels}) (${requests})`, legend]] },
    {
      title: 'Success: answers below 500',
      unit: 'percentunit',
      queries: [
        [
          `sum by (${labels}) (pod_upstream:osm_requests:rate1m{${selector},response_class!="5"}) / sum by (${labels}) (${requests})`,
          legend,
        ],
      ],
    },
    {
      title: 'Duration (class envoy)',
      unit: 'ms',
      queries: [
        [duration(0.5), `p50 ${legend}`],
        [duration(0.99), `p99 ${legend}`],
      ],
    },
    {
      title: 'Requests by class of status',
      unit: 'reqps',
      queries: [[`sum by (response_class) (${requests})`, '{{response_class}}xx']],
    },
    {
      title: 'Bytes',
      unit: 'Bps',
      queries: [
        [`sum by (${labels}) (pod_upstream:osm_sent_bytes:rate1m{${selector}})`, `sent ${legend}`],
        [`sum by (${labels}) (pod_upstream:osm_received_bytes:rate1m{${selector}})`, `received ${legend}`],
      ],
    },
    {
      title: 'Open connections',
      unit: 'short',
      queries: [[`sum by (${labels}) (pod_upstream:osm_connections:sum{${selector}})`, legend]],
    },
  ]
}

/**
 * @param {string} name
 * @param {string} caller as the title says it
 * @param {string} by label that names a caller
 * @returns {Dashboard}
 */
function toService(name, caller, by) {
  const series = 'pod_upstream:osm_requests:rate1m'
  return {
    name,
    title: `OSM ${caller} to Service`,
    description: `What each ${caller.toLowerCase()} asks of the services of the mesh, by the sidecar of the caller.`,
    variables: [
      { name: 'source_namespace', label: 'Namespace', query: `label_values(${series}, source_namespace)` },
      { name: by, label: caller, query: `label_values(${series}, ${by})` },
      { name: 'upstream', label: 'Service', query: `label_values(${series}, upstream)` },
    ],
    panels: trafficPanels(by, `source_namespace=~"$source_namespace",${by}=~"$${by}",upstream=~"$upstream"`),
  }
}

const pair = 'source_namespace, source_name, destination_namespace, destination_name'
const pairLegend = '{{source_namespace}}/{{source_name}} → {{destination_namespace}}/{{destination_name}}'
const pairSelector = 'source_name=~"$source_name",destination_name=~"$destination_name"'
const pairDuration = (/** @type {number} */ quantile) =>
  `histogram_quantile(${quantile}, sum by (${pair}, le) (rate(osm_request_duration_ms_bucket{${pairSelector}}[1m])))`

/** @type {Dashboard[]} */
export const trafficDashboards = [
  toService('osm-pod-to-service', 'Pod', 'source_pod_name'),
  toService('osm-service-to-service', 'Service', 'source_service'),
  toService('osm-workload-to-service', 'Workload', 'source_workload_name'),
  {
    name: 'osm-workload-to-workload',
    title: 'OSM Workload to Workload',
    description: 'Requests between workloads. Needs featureFlags.enableWASMStats and sidecars of class envoy.',
    variables: [
      { name: 'source_name', label: 'Source', query: 'label_values(osm_request_total, source_name)' },
      { name: 'destination_name', label: 'Destination', query: 'label_values(osm_request_total, destination_name)' },
    ],
    panels: [
      {
        title: 'Requests',
        unit: 'reqps',
        queries: [[`sum by (${pair}) (rate(osm_request_total{${pairSelector}}[1m]))`, pairLegend]],
      },
      {
        title: 'Success: answers below 500',
        unit: 'percentunit',
        queries: [
          [
            `sum by (${pair}) (rate(osm_request_total{${pairSelector},response_code!~"5.."}[1m])) / sum by (${pair}) (rate(osm_request_total{${pairSelector}}[1m]))`,
            pairLegend,
          ],
        ],
      },
      {
        title: 'Duration',
        unit: 'ms',
        queries: [
          [pairDuration(0.5), `p50 ${pairLegend}`],
          [pairDuration(0.99), `p99 ${pairLegend}`],
        ],
      },
      {
        title: 'Requests by status',
        unit: 'reqps',
        queries: [[`sum by (response_code) (rate(osm_request_total{${pairSelector}}[1m]))`, '{{response_code}}']],
      },
    ],
  },
]
