{{/* Namespace of the control plane. */}}
{{- define "osm.namespace" -}}
{{ .Values.osm.osmNamespace | default .Release.Namespace }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "osm.labels" -}}
app.kubernetes.io/name: openservicemesh.io
app.kubernetes.io/instance: {{ .Values.osm.meshName | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* Metadata labels of an object of one component. Takes root and component. */}}
{{- define "osm.componentLabels" -}}
{{ include "osm.labels" .root }}
app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | quote }}
app: {{ .component | quote }}
meshName: {{ .root.Values.osm.meshName | quote }}
{{- end }}

{{/* Labels of the pods of one component. Takes root, component and podLabels; the chart's own labels win. */}}
{{- define "osm.podLabels" -}}
{{- $own := include "osm.labels" .root | fromYaml -}}
{{- $own := merge (dict "app" .component "meshName" .root.Values.osm.meshName) $own -}}
{{ merge $own (.podLabels | default dict) | toYaml }}
{{- end }}

{{/* Image of the chart. Takes root and key, a key of image.name. */}}
{{- define "osm.image" -}}
{{- $image := .root.Values.osm.image -}}
{{- $name := index $image.name .key -}}
{{- $repository := ternary (printf "%s/%s" $image.registry $name) $name (ne $image.registry "") -}}
{{- $digest := index $image.digest .key -}}
{{- if $image.tag -}}
{{ printf "%s:%s" $repository $image.tag }}
{{- else if $digest -}}
{{ printf "%s@%s" $repository $digest }}
{{- else -}}
{{ printf "%s:%s" $repository .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Name of an object that belongs to the cluster: several meshes may be in it. Takes root and name. */}}
{{- define "osm.clusterName" -}}
{{ printf "osm-%s-%s" .root.Values.osm.meshName .name }}
{{- end }}

{{- define "osm.mutatingWebhookName" -}}
{{ printf "%s-%s" .Values.osm.webhookConfigNamePrefix .Values.osm.meshName }}
{{- end }}

{{- define "osm.validatingWebhookName" -}}
{{ .Values.osm.validatorWebhook.webhookConfigurationName | default (printf "osm-validator-mesh-%s" .Values.osm.meshName) }}
{{- end }}

{{/* Secret of the root of the control plane. */}}
{{- define "osm.controlPlaneCaSecretName" -}}
{{ printf "%s-control-plane" .Values.osm.caBundleSecretName }}
{{- end }}

{{/* Secrets of the certificate authority, as a YAML list: the root for workloads, and that of the control plane. */}}
{{- define "osm.caSecretNames" -}}
{{ list .Values.osm.caBundleSecretName (include "osm.controlPlaneCaSecretName" .) | toYaml }}
{{- end }}

{{/* The signer of certificates of sidecars, as kubelets name it. */}}
{{- define "osm.podSignerName" -}}
sidecar.openservicemesh.io/{{ .Values.osm.meshName }}
{{- end }}
