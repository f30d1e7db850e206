/** @typedef {import('./build.mjs').Dashboard} Dashboard */

const program = 'source_namespace, source_pod_name'
const programLegend = '{{source_pod_name}}'
const control = 'source_service=~"osm-controller|osm-injector|osm-bootstrap"'
const sidecar = 'source_namespace=~"$source_namespace",source_pod_name=~"$source_pod_name"'
const p99 = (/** @type {string} */ metric, /** @type {string} */ by) =>
  `histogram_quantile(0.99, sum by (${by}, le) (rate(${metric}_bucket[5m])))`
const stage = (/** @type {string} */ name) => p99(`osm_proxy_push_${name}_seconds`, 'class')

/** @type {Dashboard[]} */
export const meshDashboards = [
  {
    name: 'osm-control-plane',
    title: 'OSM Control Plane',
    description: 'Programs of the control plane, and what sidecars have applied.',
    panels: [
      {
        title: 'Connected sidecars',
        unit: 'short',
        type: 'stat',
        queries: [['sum by (source_namespace) (osm_proxy_connect_count)', '{{source_namespace}}']],
      },
      {
        title: 'Namespaces of the mesh',
        unit: 'short',
        type: 'stat',
        queries: [['max by (source_namespace) (osm_resource_namespace_count)', '{{source_namespace}}']],
      },
      {
        title: 'Sidecars by what became of their configuration',
        unit: 'short',
        queries: [['sum by (class, state) (osm_proxy_apply_states)', '{{class}} {{state}}']],
      },
      {
        title: 'Certificates issued',
        unit: 'short',
        queries: [[`sum by (${program}) (increase(osm_cert_issued_count[5m]))`, programLegend]],
      },
      {
        title: 'Time until an authority expires',
        unit: 's',
        queries: [
          [
            'min by (authority, role) (osm_cert_authority_expiry_timestamp_seconds{role!="trusted"}) - time()',
            '{{role}} of {{authority}}',
          ],
        ],
      },
      {
        title: 'Changes of objects that are not taken in yet',
        unit: 'short',
        queries: [[`sum by (${program}) (osm_events_queued)`, programLegend]],
      },
      {
        title: 'Pods that the injector has reviewed',
        unit: 'short',
        queries: [['sum by (outcome, reason) (increase(osm_injector_decisions_total[5m]))', '{{outcome}} {{reason}}']],
      },
      {
        title: 'Time to review a pod, p99',
        unit: 's',
        queries: [[p99('osm_injector_review_seconds', 'outcome'), '{{outcome}}']],
      },
      {
        title: 'Processor',
        unit: 'short',
        queries: [[`sum by (${program}) (rate(process_cpu_seconds_total{${control}}[1m]))`, programLegend]],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [[`sum by (${program}) (process_resident_memory_bytes{${control}})`, programLegend]],
      },
      {
        title: 'Delay of the event loop, p99',
        unit: 's',
        queries: [[p99('osm_event_loop_lag_seconds', program), programLegend]],
      },
      {
        title: 'Changes that the API server has sent',
        unit: 'short',
        queries: [['sum by (type) (rate(osm_k8s_api_event_count[1m]))', '{{type}}']],
      },
    ],
  },
  {
    name: 'osm-configuration-pushes',
    title: 'OSM Configuration Pushes',
    description: 'The way of a change from its first event to the acknowledgement of the last sidecar.',
    panels: [
      { title: 'Whole way, p99', unit: 's', queries: [[p99('osm_proxy_convergence_seconds', 'class'), '{{class}}']] },
      {
        title: 'Computing policies, p99',
        unit: 's',
        queries: [
          [p99('osm_policy_debounce_seconds', 'source_namespace'), 'from the first event'],
          [p99('osm_policy_recompute_seconds', 'source_namespace'), 'computing'],
        ],
      },
      {
        title: 'Stages of a push, p99',
        unit: 's',
        queries: [
          [stage('queue'), 'queue {{class}}'],
          [stage('translate'), 'translate {{class}}'],
          [stage('encode'), 'encode {{class}}'],
          [stage('send'), 'send {{class}}'],
        ],
      },
      {
        title: 'Policies that changed',
        unit: 'short',
        queries: [[`sum by (${program}) (increase(osm_policy_recomputed_count[5m]))`, programLegend]],
      },
      {
        title: 'Bytes of configuration',
        unit: 'Bps',
        queries: [['sum by (class) (rate(osm_proxy_push_bytes_count[1m]))', '{{class}}']],
      },
      {
        title: 'Responses to sidecars (class envoy)',
        unit: 'short',
        queries: [['sum by (type) (increase(osm_proxy_response_send_success_count[5m]))', '{{type}}']],
      },
    ],
  },
  {
    name: 'osm-data-plane-performance',
    title: 'OSM Data Plane Performance',
    description: 'What sidecars do and use, by namespace.',
    panels: [
      {
        title: 'Requests',
        unit: 'reqps',
        queries: [['sum by (source_namespace) (pod_upstream:osm_requests:rate1m)', '{{source_namespace}}']],
      },
      {
        title: 'Duration of requests (class envoy)',
        unit: 'ms',
        queries: [0.5, 0.9, 0.99].map((quantile) => [
          `histogram_quantile(${quantile}, sum by (source_namespace, le) (pod_upstream:osm_request_duration_ms_bucket:rate1m))`,
          `p${quantile * 100} {{source_namespace}}`,
        ]),
      },
      {
        title: 'Memory of sidecars (class envoy)',
        unit: 'bytes',
        queries: [
          ['sum by (source_namespace) (envoy_server_memory_allocated)', 'all in {{source_namespace}}'],
          ['max by (source_namespace) (envoy_server_memory_allocated)', 'largest in {{source_namespace}}'],
        ],
      },
      {
        title: 'Connections of sidecars (class envoy)',
        unit: 'short',
        queries: [['sum by (source_namespace) (envoy_server_total_connections)', '{{source_namespace}}']],
      },
    ],
  },
  {
    name: 'osm-mesh-sidecar-details',
    title: 'OSM Mesh and Sidecar Details',
    description: 'Single sidecars of class envoy.',
    variables: [
      { name: 'source_namespace', label: 'Namespace', query: 'label_values(envoy_server_live, source_namespace)' },
      { name: 'source_pod_name', label: 'Pod', query: 'label_values(envoy_server_live, source_pod_name)' },
    ],
    panels: [
      {
        title: 'Sidecars that are live',
        unit: 'short',
        type: 'stat',
        queries: [[`sum by (source_namespace) (envoy_server_live{${sidecar}})`, '{{source_namespace}}']],
      },
      {
        title: 'Time since the start',
        unit: 's',
        type: 'stat',
        queries: [[`envoy_server_uptime{${sidecar}}`, programLegend]],
      },
      { title: 'Memory', unit: 'bytes', queries: [[`envoy_server_memory_allocated{${sidecar}}`, programLegend]] },
      {
        title: 'Connections',
        unit: 'short',
        queries: [[`envoy_server_total_connections{${sidecar}}`, programLegend]],
      },
      {
        title: 'Requests by upstream',
        unit: 'reqps',
        queries: [
          [
            `sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_rq_total{${sidecar}}[1m]))`,
            '{{envoy_cluster_name}}',
          ],
        ],
      },
      {
        title: 'Retries',
        unit: 'reqps',
        queries: [
          [
            `sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_rq_retry{${sidecar}}[1m]))`,
            '{{envoy_cluster_name}}',
          ],
        ],
      },
      {
        title: 'Requests that a limit of the upstream has refused',
        unit: 'reqps',
        queries: [
          [
            `sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_rq_pending_overflow{${sidecar}}[1m]))`,
            '{{envoy_cluster_name}}',
          ],
        ],
      },
      {
        title: 'Connections that failed',
        unit: 'short',
        queries: [
          [
            `sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_cx_connect_fail{${sidecar}}[1m]))`,
            '{{envoy_cluster_name}}',
          ],
        ],
      },
    ],
  },
]
