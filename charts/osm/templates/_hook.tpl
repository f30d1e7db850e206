{{/*
A Job that runs as a hook, with the account and the rights that it needs for that moment only. Takes root; name; purpose, for names of
cluster-wide objects; hook; image, a key of image.name; settings, a map with affinity, nodeSelector and tolerations; podNameVariable; args;
and the rules of its ClusterRole and of its Role, as YAML.
*/}}
{{- define "osm.hookJob" -}}
{{- $root := .root -}}
{{- $namespace := include "osm.namespace" $root -}}
{{- $clusterName := include "osm.clusterName" (dict "root" $root "name" .purpose) -}}
{{- $component := dict "root" $root "component" .name -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" -10) | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $clusterName }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" -10) | nindent 4 }}
rules:
  {{- .clusterRules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $clusterName }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" -9) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $clusterName }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" -10) | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" -9) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace | quote }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "osm.componentLabels" $component | nindent 4 }}
  annotations:
    {{- include "osm.hookAnnotations" (dict "hook" .hook "weight" 0) | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: 300
  template:
    metadata:
      labels:
        {{- include "osm.podLabels" $component | nindent 8 }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ .name }}
      securityContext:
        {{- include "osm.podSecurityContext" $root | nindent 8 }}
      containers:
        - name: {{ .name }}
          image: {{ include "osm.image" (dict "root" $root "key" .image) | quote }}
          imagePullPolicy: {{ $root.Values.osm.image.pullPolicy }}
          args:
            {{- toYaml .args | nindent 12 }}
          env:
            {{- include "osm.podNameVariable" .podNameVariable | nindent 12 }}
          resources:
            limits:
              cpu: 500m
              memory: 256M
            requests:
              cpu: 100m
              memory: 128M
          securityContext:
            {{- include "osm.containerSecurityContext" $root | nindent 12 }}
      {{- include "osm.placement" (dict "root" $root "settings" .settings "tolerations" .settings.tolerations) | trim | nindent 6 }}
{{- end }}

{{/* Takes hook and weight. What failed stays, so that its log can be read. */}}
{{- define "osm.hookAnnotations" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | toString | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
