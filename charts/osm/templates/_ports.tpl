{{/*
Ports of the proxy control planes, as a YAML list of name and port. OSM and osm-edge have one each, under these names; ports of other
classes are named after the class, as far as the 15 characters of a port's name go.
*/}}
{{- define "osm.proxyPorts" -}}
{{- $known := dict "envoy" "ads-port" "pipy" "pipy-admin-port" -}}
{{- $ports := list -}}
{{- range $index, $driver := include "osm.drivers" . | fromYamlArray -}}
{{- $name := get $known .sidecarName | default (printf "proxy-%d" $index) -}}
{{- $ports = append $ports (dict "name" $name "port" (.proxyServerPort | default 15128 | int)) -}}
{{- end -}}
{{ $ports | toYaml }}
{{- end }}
