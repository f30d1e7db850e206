{{/*
What Prometheus scrapes: pods of the control plane and pods with a sidecar, if they are annotated, and of their metrics those that
docs/reference/metrics.md lists and those of the proxies; of HAProxy, which has seventy for each place of a server, those that the rules read. The labels are OSM's, so that its queries go on working.
*/}}
{{- define "osm.prometheusConfig" -}}
global:
  scrape_interval: 10s
  scrape_timeout: 10s
  evaluation_interval: 1m
rule_files:
  - /etc/prometheus/rules.yml
scrape_configs:
  - job_name: kubernetes-pods
    kubernetes_sd_configs:
      - role: pod
    relabel_configs:
      - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape]
        action: keep
        regex: "true"
      - source_labels: [__meta_kubernetes_namespace, __meta_kubernetes_pod_labelpresent_osm_proxy_uuid]
        action: keep
        regex: {{ printf "%s;.*|.*;true" (include "osm.namespace" .) | quote }}
      - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_path]
        action: replace
        target_label: __metrics_path__
        regex: (.+)
      - source_labels: [__address__, __meta_kubernetes_pod_annotation_prometheus_io_port]
        action: replace
        target_label: __address__
        regex: ([^:]+|\[.+\])(?::\d+)?;(\d+)
        replacement: $1:$2
      - source_labels: [__meta_kubernetes_namespace]
        action: replace
        target_label: source_namespace
      - source_labels: [__meta_kubernetes_pod_name]
        action: replace
        target_label: source_pod_name
      - source_labels: [__meta_kubernetes_pod_label_app]
        action: replace
        target_label: source_service
      - source_labels: [__meta_kubernetes_pod_controller_kind]
        action: replace
        target_label: source_workload_kind
      - source_labels: [__meta_kubernetes_pod_controller_name]
        action: replace
        target_label: source_workload_name
      # Pods of a Deployment belong to a ReplicaSet, whose name is that of the Deployment and a hash.
      - source_labels: [__meta_kubernetes_pod_controller_kind, __meta_kubernetes_pod_controller_name]
        action: replace
        target_label: source_workload_name
        regex: ReplicaSet;(.+)-[^-]+
      - source_labels: [__meta_kubernetes_pod_controller_kind]
        action: replace
        target_label: source_workload_kind
        regex: ReplicaSet
        replacement: Deployment
    metric_relabel_configs:
      # Envoy puts its own name before those of all metrics.
      - source_labels: [__name__]
        action: replace
        target_label: __name__
        regex: envoy_(osm_request_.*)
        replacement: $1
      - source_labels: [__name__]
        action: keep
        regex: (osm|envoy_server|envoy_cluster|sidecar|http_local|(in|out)bound_http|process|nodejs)_.*|haproxy_(backend_(http_responses|bytes_in|bytes_out)_total|server_(used|idle)_connections_current)
{{- end }}
