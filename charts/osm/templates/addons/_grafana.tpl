{{/* Files that tell Grafana where its data comes from, and where its dashboards are. */}}
{{- define "osm.grafanaProvisioning" -}}
prometheus.yaml: |
  apiVersion: 1
  datasources:
    - name: Prometheus
      type: prometheus
      access: proxy
      url: http://osm-prometheus.{{ include "osm.namespace" . }}:{{ .Values.osm.prometheus.port | int }}
      isDefault: true
      editable: false
osm.yaml: |
  apiVersion: 1
  providers:
    - name: osm
      folder: OSM
      type: file
      disableDeletion: true
      options:
        path: /var/lib/osm-dashboards
{{- end }}
