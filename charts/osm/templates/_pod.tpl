{{/* Security context of every pod of the chart. The images name a numeric user, so that OpenShift may choose another. */}}
{{- define "osm.podSecurityContext" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* Security context of every container of the chart. */}}
{{- define "osm.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where pods run. Takes root, and settings: a map of affinity, nodeSelector and tolerations. */}}
{{- define "osm.placement" -}}
{{- with .settings.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.osm.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spreads the pods of a component. Takes component and constraints; without constraints over zones and nodes where possible. */}}
{{- define "osm.topologySpread" -}}
topologySpreadConstraints:
{{- if .constraints }}
  {{- toYaml .constraints | nindent 2 }}
{{- else }}
{{- $component := .component }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app: {{ $component }}
{{- end }}
{{- end }}
{{- end }}

{{/* Probes of a program that serves health on port 9091. Loading the first state of a big cluster takes a while: two minutes. */}}
{{- define "osm.probes" -}}
startupProbe:
  httpGet:
    path: /health/alive
    port: health
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /health/alive
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /health/ready
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end }}

{{/*
A pod that ends goes on answering until everybody has heard that it is gone: with the webhook that would be a refused pod, with the proxy
control plane a reconnect for nothing. The hook that waits is known since 1.30; before that Node.js waits.
*/}}
{{- define "osm.preStop" -}}
lifecycle:
  preStop:
    {{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}
    sleep:
      seconds: 5
    {{- else }}
    exec:
      command: [/nodejs/bin/node, -e, "setTimeout(() => {}, 5000)"]
    {{- end }}
{{- end }}

{{/* Flags that controller, injector and bootstrap have in common, as a YAML list. */}}
{{- define "osm.commonFlags" -}}
{{- $osm := .Values.osm -}}
{{- $flags := list
  (printf "--verbosity=%s" $osm.controllerLogLevel)
  (printf "--mesh-name=%s" $osm.meshName)
  (printf "--osm-namespace=%s" (include "osm.namespace" .))
  (printf "--osm-version=%s" .Chart.AppVersion)
  (printf "--ca-bundle-secret-name=%s" $osm.caBundleSecretName)
  (printf "--certificate-manager=%s" $osm.certificateProvider.kind)
  (printf "--trust-domain=%s" $osm.trustDomain)
  (printf "--cluster-domain=%s" $osm.clusterDomain)
-}}
{{- if $osm.featureFlags.enableMeshRootCertificate }}{{- $flags = append $flags "--enable-mesh-root-certificate" }}{{- end }}
{{- if $osm.enableReconciler }}{{- $flags = append $flags "--enable-reconciler" }}{{- end }}
{{- toYaml $flags }}
{{- end }}

{{/* Flags of Vault, as a YAML list; empty where it does not issue. */}}
{{- define "osm.vaultFlags" -}}
{{- $vault := .Values.osm.vault -}}
{{- if eq .Values.osm.certificateProvider.kind "vault" }}
{{- $flags := list
  (printf "--vault-host=%s" $vault.host)
  (printf "--vault-port=%d" (int $vault.port))
  (printf "--vault-protocol=%s" $vault.protocol)
  (printf "--vault-role=%s" $vault.role)
  (printf "--vault-mount=%s" $vault.mount)
  (printf "--vault-auth=%s" $vault.auth.kind)
-}}
{{- with $vault.namespace }}{{- $flags = append $flags (printf "--vault-namespace=%s" .) }}{{- end }}
{{- with $vault.auth.mount }}{{- $flags = append $flags (printf "--vault-auth-mount=%s" .) }}{{- end }}
{{- with $vault.auth.role }}{{- $flags = append $flags (printf "--vault-auth-role=%s" .) }}{{- end }}
{{- with $vault.auth.tokenFile }}{{- $flags = append $flags (printf "--vault-token-file=%s" .) }}{{- end }}
{{- if $vault.caSecret }}{{- $flags = append $flags "--vault-ca-file=/etc/osm/vault-ca/ca.crt" }}{{- end }}
{{- with include "osm.vaultSecretName" . }}
{{- $flags = concat $flags (list (printf "--vault-token-secret-name=%s" .) (printf "--vault-token-secret-key=%s" (include "osm.vaultSecretKey" $))) }}
{{- end }}
{{- toYaml $flags }}
{{- end }}
{{- end }}

{{/* Flags of a program that asks cert-manager, as a YAML list; empty where another authority signs. */}}
{{- define "osm.certManagerFlags" -}}
{{- $issuer := .Values.osm.certmanager -}}
{{- if eq .Values.osm.certificateProvider.kind "cert-manager" }}
- {{ printf "--cert-manager-issuer-name=%s" $issuer.issuerName | quote }}
- {{ printf "--cert-manager-issuer-kind=%s" $issuer.issuerKind | quote }}
- {{ printf "--cert-manager-issuer-group=%s" $issuer.issuerGroup | quote }}
{{- with $issuer.caSecret }}
- {{ printf "--cert-manager-ca-secret-name=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret with the token of Vault: that of the user, or the one that is made of osm.vault.token. */}}
{{- define "osm.vaultSecretName" -}}
{{- $osm := .Values.osm -}}
{{- if eq $osm.certificateProvider.kind "vault" }}{{ if $osm.vault.token }}osm-vault-token{{ else }}{{ $osm.vault.secret.name }}{{ end }}{{ end -}}
{{- end }}

{{/* The key in that Secret. */}}
{{- define "osm.vaultSecretKey" -}}
{{- if .Values.osm.vault.token }}token{{ else }}{{ .Values.osm.vault.secret.key }}{{ end -}}
{{- end }}

{{/* The flag of a webhook that asks for certificates, as a YAML list; empty where it does not. */}}
{{- define "osm.webhookClientFlags" -}}
{{- if .Values.osm.webhookClientCaSecret }}
- --webhook-client-ca=/etc/osm/webhook-client-ca/ca.crt
{{- end }}
{{- end }}

{{/* The Secret with the roots of Vault's own certificate. */}}
{{- define "osm.vaultCaSecret" -}}
{{- if eq .Values.osm.certificateProvider.kind "vault" }}{{ .Values.osm.vault.caSecret }}{{ end -}}
{{- end }}

{{/* Takes vaultCa, endpoints, true for a program with endpoints providers, and spire, true for one that reads the roots of SPIRE, beside the context. Where the container of a program with a webhook and drivers finds the CA of such a webhook, and driver packages. */}}
{{- define "osm.programMounts" -}}
{{- $drivers := include "osm.driverMounts" . | trim -}}
{{- if .endpoints }}{{- $drivers = printf "%s\n%s" $drivers (include "osm.endpointsMounts" . | trim) | trim -}}{{- end -}}
{{- if .spire }}{{- $drivers = printf "%s\n%s" $drivers (include "osm.workloadApiMount" . | trim) | trim -}}{{- end -}}
{{- $vaultCa := .vaultCa -}}
{{- if or .Values.osm.webhookClientCaSecret $vaultCa $drivers }}
volumeMounts:
  {{- if $vaultCa }}
  - name: vault-ca
    mountPath: /etc/osm/vault-ca
    readOnly: true
  {{- end }}
  {{- if .Values.osm.webhookClientCaSecret }}
  - name: webhook-client-ca
    mountPath: /etc/osm/webhook-client-ca
    readOnly: true
  {{- end }}
  {{- with $drivers }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What its pod needs for that: of the Secret the certificate alone. Takes logs too, true for a pod with Fluent Bit. */}}
{{- define "osm.programVolumes" -}}
{{- $drivers := include "osm.driverVolumes" . | trim -}}
{{- if .endpoints }}{{- $drivers = printf "%s\n%s" $drivers (include "osm.endpointsVolumes" . | trim) | trim -}}{{- end -}}
{{- if .spire }}{{- $drivers = printf "%s\n%s" $drivers (include "osm.workloadApiVolume" . | trim) | trim -}}{{- end -}}
{{- if .logs }}{{- $drivers = printf "%s\n%s" $drivers (include "osm.fluentBitVolumes" . | trim) | trim -}}{{- end -}}
{{- $vaultCa := .vaultCa -}}
{{- if or .Values.osm.webhookClientCaSecret $vaultCa $drivers }}
volumes:
  {{- with $vaultCa }}
  - name: vault-ca
    secret:
      secretName: {{ . | quote }}
      items:
        - key: ca.crt
          path: ca.crt
  {{- end }}
  {{- with .Values.osm.webhookClientCaSecret }}
  - name: webhook-client-ca
    secret:
      secretName: {{ . | quote }}
      items:
        - key: ca.crt
          path: ca.crt
  {{- end }}
  {{- with $drivers }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The socket of the SPIRE agent of the node, as a YAML list. */}}
{{- define "osm.workloadApiMount" -}}
{{- if .Values.osm.spire.enable }}
- name: workload-api
  mountPath: /run/osm/workload-api
  readOnly: true
{{- end }}
{{- end }}

{{/* The volume with it, as a YAML list. */}}
{{- define "osm.workloadApiVolume" -}}
{{- with .Values.osm.spire }}
{{- if .enable }}
- name: workload-api
  {{- if eq .volume "csi" }}
  csi:
    driver: {{ .csiDriver | quote }}
    readOnly: true
  {{- else }}
  hostPath:
    path: {{ .hostPath | quote }}
    type: Directory
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Environment that MeshConfig falls back to, as a YAML list. */}}
{{- define "osm.defaultsEnvironment" -}}
{{- $osm := .Values.osm -}}
- name: OSM_DEFAULT_SIDECAR_CLASS
  value: {{ $osm.sidecarClass | quote }}
{{- range include "osm.drivers" . | fromYamlArray }}
{{- if eq .sidecarName $osm.sidecarClass }}
- name: OSM_DEFAULT_SIDECAR_IMAGE
  value: {{ $osm.sidecarImage | default .sidecarImage | default "" | quote }}
- name: OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE
  value: {{ $osm.sidecarWindowsImage | default .sidecarWindowsImage | default "" | quote }}
{{- end }}
{{- end }}
- name: OSM_DEFAULT_INIT_CONTAINER_IMAGE
  value: {{ include "osm.image" (dict "root" . "key" "osmSidecarInit") | quote }}
{{- end }}

{{/* A variable with the name of the pod, for events. Takes the name of the variable. */}}
{{- define "osm.podNameVariable" -}}
- name: {{ . }}
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}

{{/* Keeps at least one pod of a component. Takes root and component. */}}
{{- define "osm.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .component }}-pdb
  namespace: {{ include "osm.namespace" .root | quote }}
  labels:
    {{- include "osm.componentLabels" . | nindent 4 }}
spec:
  minAvailable: 1
  {{- if semverCompare ">=1.27.0-0" .root.Capabilities.KubeVersion.Version }}
  # A pod that is not ready serves no traffic; keeping it would only block the drain of a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  {{- end }}
  selector:
    matchLabels:
      app: {{ .component }}
{{- end }}
