{{/* Folder that the package of an endpoints provider is in; empty for a built-in one. Takes an entry of osm.endpointsProviders. */}}
{{- define "osm.endpointsFolder" -}}
{{- if hasKey . "path" -}}
{{ .path }}
{{- else if hasKey . "imageVolume" -}}
/osm-endpoints/{{ .name }}{{ with .imageVolume.folder }}/{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* Kinds that a provider reads, as a YAML list. Takes an entry of osm.endpointsProviders. */}}
{{- define "osm.endpointsKinds" -}}
{{- $kinds := .kinds | default list -}}
{{- if ne .customResources false -}}
{{- if eq .name "azure" }}{{- $kinds = append $kinds (dict "group" "azure.openservicemesh.io" "plural" "azureresources") -}}{{- end -}}
{{- if eq .name "aws" }}{{- $kinds = append $kinds (dict "group" "aws.openservicemesh.io" "plural" "awsresources") -}}{{- end -}}
{{- end -}}
{{ $kinds | toYaml }}
{{- end }}

{{/* The variable that lists the endpoints providers, as a YAML list. Only users who can change the Deployment can change the list. */}}
{{- define "osm.endpointsEnvironment" -}}
{{- if .Values.osm.endpointsProviders }}
{{- $providers := list -}}
{{- range .Values.osm.endpointsProviders -}}
{{- $entry := dict "name" .name "settings" (.settings | default dict) -}}
{{- $own := . -}}
{{- with include "osm.endpointsFolder" . }}{{- $_ := set $entry "path" . -}}{{- end -}}
{{- range list "integrity" "variables" }}{{- if hasKey $own . }}{{- $_ := set $entry . (get $own .) -}}{{- end -}}{{- end -}}
{{- range list "heapMb" "residentMb" }}{{- if hasKey $own . }}{{- $_ := set $entry . (get $own . | int) -}}{{- end -}}{{- end -}}
{{- $providers = append $providers $entry -}}
{{- end }}
- name: OSM_ENDPOINTS_PROVIDERS
  value: {{ dict "providers" $providers | toJson | quote }}
{{- end }}
{{- end }}

{{/* Mounts of a program that loads endpoints providers, as a YAML list. */}}
{{- define "osm.endpointsMounts" -}}
{{- range .Values.osm.endpointsProviders }}
{{- if hasKey . "imageVolume" }}
- name: endpoints-{{ .name }}
  mountPath: /osm-endpoints/{{ .name }}
  readOnly: true
{{- end }}
{{- if hasKey . "secretName" }}
- name: endpoints-secret-{{ .name }}
  mountPath: /etc/osm/endpoints/{{ .name }}
  readOnly: true
{{- end }}
{{- end }}
{{- if and .Values.osm.endpointsProviders (not .Values.osm.driverPackages) }}
- name: endpoints-work
  mountPath: /tmp
{{- end }}
{{- end }}

{{/* Volumes of its pod, as a YAML list. Copies of packages are in /tmp; a package has 256 MiB at most. */}}
{{- define "osm.endpointsVolumes" -}}
{{- range .Values.osm.endpointsProviders }}
{{- if hasKey . "imageVolume" }}
- name: endpoints-{{ .name }}
  image:
    reference: {{ .imageVolume.reference | quote }}
    pullPolicy: {{ $.Values.osm.image.pullPolicy }}
{{- end }}
{{- if hasKey . "secretName" }}
- name: endpoints-secret-{{ .name }}
  secret:
    secretName: {{ .secretName | quote }}
{{- end }}
{{- end }}
{{- if and .Values.osm.endpointsProviders (not .Values.osm.driverPackages) }}
- name: endpoints-work
  emptyDir:
    sizeLimit: {{ mul 320 (len .Values.osm.endpointsProviders) }}Mi
{{- end }}
{{- end }}

{{/* What osm-controller may do with the kinds of endpoints providers: read them, and write their status. */}}
{{- define "osm.endpointsRules" -}}
{{- range .Values.osm.endpointsProviders }}
{{- range include "osm.endpointsKinds" . | fromYamlArray }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .plural | quote }}]
  verbs: [get, list, watch]
- apiGroups: [{{ .group | quote }}]
  resources: [{{ printf "%s/status" .plural | quote }}]
  verbs: [patch]
{{- end }}
{{- end }}
{{- end }}
